//! The definition of a probe: its points, the arguments of its handlers, and the data that it collects.

use crate::Pattern;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A probe. The harness reads and validates it from YAML; the instrumenter and both runtimes rely on the validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSpec {
    pub name: String,
    /// Title of the measured quantity.
    pub title: String,
    pub kernels: Vec<Pattern>,
    /// Unit that has its own set of fields.
    pub per: Per,
    /// Values that a handler collects at each site.
    pub fields: Vec<Field>,
    /// Storage of the fields of handlers that run once per warp.
    pub fields_in: FieldsIn,
    /// Arrays that all sites of a launch share.
    pub tables: Vec<TableSpec>,
    /// Names of the values that the user sets for a run, in order.
    pub parameters: Vec<String>,
    pub points: Vec<Point>,
}

/// Unit that a set of fields belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    Thread,
    Cta,
    Launch,
}

/// Storage of a site's fields while a kernel runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldsIn {
    /// In registers (or on the stack) until the function with the site returns.
    #[default]
    Registers,
    /// In memory: each handler call starts with fresh fields, which are then combined with those in memory.
    Memory,
}

/// A value that a handler updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Name in the handler's `Fields` and in tables.
    pub name: String,
    #[serde(default, rename = "type")]
    pub word: Word,
    /// Operation that combines the values of multiple threads.
    #[serde(default)]
    pub combine: Combine,
}

impl Field {
    pub fn start(&self) -> u64 {
        match (self.combine.is_complemented(), self.word) {
            (false, _) => 0,
            (true, Word::U32) => u64::from(u32::MAX),
            (true, Word::U64) => u64::MAX,
        }
    }

    /// Combines two values of the field.
    pub fn join(&self, left: u64, right: u64) -> u64 {
        self.shown(self.combine.stored(self.shown(left), self.shown(right)))
    }

    /// Converts a stored word to the handler's value, or back.
    pub fn shown(&self, stored: u64) -> u64 {
        stored ^ self.start()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// 32 bits wide in the handler, but 64 bits wide in totals.
    U32,
    #[default]
    U64,
}

/// Operation that combines values, which also determines a field's start value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// Sum, starting from 0.
    #[default]
    Sum,
    /// Minimum, starting from the largest value.
    Min,
    /// Maximum, starting from 0.
    Max,
    /// Bits set in all values, starting from all ones.
    And,
    /// Bits set in any value, starting from 0.
    Or,
}

impl Combine {
    /// Returns whether memory contains the complement, so that every field starts as zero.
    pub fn is_complemented(self) -> bool {
        matches!(self, Combine::Min | Combine::And)
    }

    /// Combines two stored values of a field (complements for `Min` and `And`).
    pub fn stored(self, left: u64, right: u64) -> u64 {
        match self {
            Combine::Sum => left.wrapping_add(right),
            Combine::Min | Combine::Max => left.max(right),
            Combine::And | Combine::Or => left | right,
        }
    }
}

/// An array of 64-bit words; handlers add to its elements with `atomicAdd`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    pub name: String,
    pub words: u64,
}

/// A set of sites at which a handler is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Point {
    pub at: Vec<At>,
    #[serde(default)]
    pub when: When,
    /// Whether the handler runs for every thread, or once for the active threads of a warp.
    #[serde(default)]
    pub once_per: OncePer,
    pub call: String,
    #[serde(default)]
    pub pass: Vec<Pass>,
    /// Whether the handler's result replaces the value.
    #[serde(default)]
    pub replaces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// The first instruction of a kernel.
    KernelEntry,
    /// Each return of a kernel.
    KernelExit,
    Block,
    /// Each conditional branch.
    Branch,
    Load,
    Store,
    Atomic,
    /// Each non-phi instruction whose result is a 2- to 64-bit integer, pointer or floating-point number.
    Value,
    /// Each instruction with a one-bit result, mainly comparisons.
    Predicate,
    Barrier,
    Call,
    /// Integer arithmetic, logic and comparisons, and address calculations. This and all later variants are classes.
    Integer,
    /// Floating-point arithmetic and comparisons.
    Float,
    Special,
    Conversion,
    Shared,
    /// Accesses to local memory: a thread's variables that have addresses.
    Local,
    /// Loads of constants and of a kernel's parameters.
    Constant,
    Texture,
}

impl At {
    /// Returns whether this is an access to global memory.
    pub fn is_memory(self) -> bool {
        matches!(self, At::Load | At::Store | At::Atomic)
    }

    /// Returns whether this is a class of instructions, whose handlers get only the operation.
    pub fn is_class(self) -> bool {
        self >= At::Integer
    }

    /// Returns whether handlers can get the instruction's result.
    pub fn has_value(self) -> bool {
        matches!(self, At::Value | At::Predicate)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    #[default]
    Before,
    After,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OncePer {
    #[default]
    Thread,
    /// Once for the active threads of a warp.
    Warp,
}

/// An argument of a handler, serialised as its word. The derived methods read and write all words except tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum Pass {
    /// `Fields &`: the site's fields.
    Fields,
    /// `unsigned`: the site's number.
    Site,
    /// `unsigned`: the source line; 0 when unknown.
    Line,
    /// `unsigned long long`: the launch's index within its stream.
    Launch,
    /// `unsigned long long`: the address.
    Address,
    /// `unsigned`: size of an access in bytes, or of a value or an instruction's result in bits.
    Width,
    /// `unsigned`: an access's operation, numbered as in the capture; for other instructions, LLVM's opcode.
    Operation,
    /// `unsigned long long`: the value, zero-extended.
    Value,
    /// `bool`: whether the branch goes to its first target.
    Taken,
    /// `unsigned`: mask of the active lanes.
    ActiveMask,
    /// `unsigned`: mask of the active lanes that take the branch.
    TakenMask,
    /// `unsigned`: number of 32-byte lines that the lanes' addresses touch.
    UniqueLines,
    /// `unsigned long long`: bits that are set in the values of all lanes.
    AndBits,
    /// `unsigned long long`: bits that are set in the value of any lane.
    OrBits,
    /// `const unsigned long long *`: the parameters, in order.
    Parameters,
    /// `unsigned long long *`: the table with that name.
    #[serde(rename = "table:NAME")]
    Table(String),
}

impl std::fmt::Display for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pass::Table(name) => write!(f, "table:{name}"),
            word => Pass::serialize(word, f),
        }
    }
}

impl Serialize for Pass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match word.strip_prefix("table:") {
            Some(name) => Ok(Pass::Table(name.to_owned())),
            None => Pass::deserialize(word.into_deserializer()),
        }
    }
}

impl ProbeSpec {
    /// Returns whether the CPU backend must log events to find the threads of a warp that were active together.
    pub fn groups_lanes(&self) -> bool {
        (self.points.iter()).any(|point| point.once_per == OncePer::Warp)
    }

    /// Returns whether the probe applies to the kernel with this mangled name and readable name without parameters.
    pub fn selects_kernel(&self, mangled: &str, readable: &str) -> bool {
        let mut patterns = self.kernels.iter();
        self.kernels.is_empty() || patterns.any(|it| it.matches_function(mangled, readable))
    }

    /// Returns the size of a handler's `Fields` in bytes, with C's padding.
    pub fn fields_bytes(&self) -> u64 {
        let mut bytes = 0u64;
        let mut alignment = 1;
        for field in &self.fields {
            let size = match field.word {
                Word::U32 => 4,
                Word::U64 => 8,
            };
            bytes = bytes.next_multiple_of(size) + size;
            alignment = alignment.max(size);
        }
        bytes.next_multiple_of(alignment)
    }

    pub fn table_words(&self) -> u64 {
        self.tables.iter().map(|table| table.words).sum()
    }
}

#[cfg(test)]
mod tests;
