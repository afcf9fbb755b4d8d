//! The definition of a probe: where it goes in, what its handler gets, and what is collected.

use crate::Pattern;
use serde::{Deserialize, Serialize};

/// A probe. The harness reads it from YAML and checks it; the instrumenter and both runtimes take it as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSpec {
    pub name: String,
    /// Title of the measured quantity.
    pub title: String,
    pub kernels: Vec<Pattern>,
    /// For what each set of fields is kept.
    pub per: Per,
    /// Numbers that a handler collects at each site.
    pub fields: Vec<Field>,
    /// Where the fields of handlers are that run once for a warp.
    pub fields_in: FieldsIn,
    /// Arrays that all sites of a launch share.
    pub tables: Vec<TableSpec>,
    /// Numbers that the user sets for a run, in order.
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

/// Where the fields of a place are while a kernel runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldsIn {
    /// In registers (or on the stack) until the function that holds the place returns.
    #[default]
    Registers,
    /// In memory: each call of a handler begins with fresh fields, which are combined into memory behind it.
    Memory,
}

/// A number that a handler changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name in the handler's `Fields` and in tables.
    pub name: String,
    pub word: Word,
    /// How the values of several threads become one.
    pub combine: Combine,
}

impl Field {
    /// The value that it starts with.
    pub fn start(&self) -> u64 {
        match (self.combine.is_complemented(), self.word) {
            (false, _) => 0,
            (true, Word::U32) => u64::from(u32::MAX),
            (true, Word::U64) => u64::MAX,
        }
    }

    /// Two values of the field as one.
    pub fn join(&self, left: u64, right: u64) -> u64 {
        self.shown(self.combine.stored(self.shown(left), self.shown(right)))
    }

    /// Conversion between stored words and the handler's values.
    pub fn shown(&self, stored: u64) -> u64 {
        stored ^ self.start()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// 32 bits in the handler; totals have 64.
    U32,
    #[default]
    U64,
}

/// How values are combined, and with it the value that a field starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// Their sum, from 0.
    #[default]
    Sum,
    /// The smallest, from the largest number.
    Min,
    /// The largest, from 0.
    Max,
    /// Bits that are set in all, from all ones.
    And,
    /// Bits that are set in any, from 0.
    Or,
}

impl Combine {
    /// Whether memory holds the complement, so that zeroes mean "nothing yet" for every field.
    pub fn is_complemented(self) -> bool {
        matches!(self, Combine::Min | Combine::And)
    }

    /// Two values of one field, as memory holds them (complements of `Min` and `And`), as one.
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
pub struct TableSpec {
    pub name: String,
    pub words: u64,
}

/// One place at which a handler is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    pub at: Vec<At>,
    pub when: When,
    /// For every thread, or for the threads of a warp that are there together.
    pub once_per: OncePer,
    pub call: String,
    pub pass: Vec<Pass>,
    /// Whether what the handler returns takes the value's place.
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
    /// Each branch with a condition.
    Branch,
    Load,
    Store,
    Atomic,
    /// Each instruction whose result is an integer, a pointer or a floating-point number of 2 to 64 bits, phis left out.
    Value,
    /// Results of one bit: comparisons above all.
    Predicate,
    Barrier,
    Call,
    /// Arithmetic, logic and comparisons of integers, and address calculations. From here on there are classes only.
    Integer,
    /// Arithmetic and comparisons of floating-point numbers.
    Float,
    Special,
    Conversion,
    Shared,
    /// Accesses to local memory: variables of a thread that have addresses.
    Local,
    /// Loads of constants and of a kernel's parameters.
    Constant,
    Texture,
}

impl At {
    /// Whether it is an access to global memory.
    pub fn is_memory(self) -> bool {
        matches!(self, At::Load | At::Store | At::Atomic)
    }

    /// Whether it is a class of instructions of which only the operation is told.
    pub fn is_class(self) -> bool {
        self >= At::Integer
    }

    /// Whether an instruction there has a result that a handler may see.
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

/// An argument of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// `Fields &`: the site's fields.
    Fields,
    /// `unsigned`: the site's number.
    Site,
    /// `unsigned`: the source line; 0 when unknown.
    Line,
    /// `unsigned long long`: the launch's number in its stream.
    Launch,
    /// `unsigned long long`: the address.
    Address,
    /// `unsigned`: bytes of an access, bits of a value or of an instruction's result.
    Width,
    /// `unsigned`: what an access does, by the numbers of the capture; of other instructions LLVM's number of the operation.
    Operation,
    /// `unsigned long long`: the value, with zeroes above its width.
    Value,
    /// `bool`: whether the branch goes to its first target.
    Taken,
    /// `unsigned`: the lanes that are here together.
    ActiveMask,
    /// `unsigned`: those of them that take the branch.
    TakenMask,
    /// `unsigned`: how many 32-byte lines the lanes' addresses lie in.
    UniqueLines,
    /// `unsigned long long`: bits that are set in the values of all lanes.
    AndBits,
    /// `unsigned long long`: bits that are set in the value of any lane.
    OrBits,
    /// `const unsigned long long *`: the parameters, in their order.
    Parameters,
    /// `unsigned long long *`: the table of that name.
    Table(String),
}

impl Pass {
    pub fn from_word(word: &str) -> Option<Pass> {
        if let Some(name) = word.strip_prefix("table:") {
            return Some(Pass::Table(name.to_owned()));
        }
        let mut known = Pass::WORDS.into_iter();
        known.find_map(|(name, pass)| (name == word).then_some(pass))
    }

    pub fn word(&self) -> String {
        if let Pass::Table(name) = self {
            return format!("table:{name}");
        }
        let known = Pass::WORDS.iter().find(|(_, pass)| pass == self);
        known.map_or_else(String::new, |(word, _)| (*word).to_owned())
    }

    /// Every argument but tables, by its word.
    pub const WORDS: [(&'static str, Pass); 15] = [
        ("fields", Pass::Fields),
        ("site", Pass::Site),
        ("line", Pass::Line),
        ("launch", Pass::Launch),
        ("address", Pass::Address),
        ("width", Pass::Width),
        ("operation", Pass::Operation),
        ("value", Pass::Value),
        ("taken", Pass::Taken),
        ("active-mask", Pass::ActiveMask),
        ("taken-mask", Pass::TakenMask),
        ("unique-lines", Pass::UniqueLines),
        ("and-bits", Pass::AndBits),
        ("or-bits", Pass::OrBits),
        ("parameters", Pass::Parameters),
    ];
}

impl ProbeSpec {
    /// Whether the CPU backend must log events, to find the threads of a warp that were at a place together.
    pub fn groups_lanes(&self) -> bool {
        (self.points.iter()).any(|point| point.once_per == OncePer::Warp)
    }

    /// Whether the kernel with this mangled name, and this readable name without parameters, carries the probe.
    pub fn takes_kernel(&self, mangled: &str, readable: &str) -> bool {
        let mut patterns = self.kernels.iter();
        self.kernels.is_empty() || patterns.any(|it| it.matches_function(mangled, readable))
    }

    /// Bytes of a handler's `Fields`, with C's padding.
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

    /// 64-bit words of all tables together.
    pub fn table_words(&self) -> u64 {
        self.tables.iter().map(|table| table.words).sum()
    }
}

#[cfg(test)]
mod tests;
