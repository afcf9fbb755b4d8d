//! Sites of a probe: the table that the instrumenter embeds in a module.

use super::{At, ProbeSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A defined probe in one module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinedProbe {
    pub spec: ProbeSpec,
    /// Every site, by slot.
    pub sites: Vec<PointSite>,
    /// The slots that each kernel can reach, by mangled name.
    pub kernels: BTreeMap<String, KernelSlots>,
}

/// Suffix of the name of a kernel's uninstrumented copy.
pub const NATIVE_SUFFIX: &str = "__superstep_native";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSlots {
    pub first: u32,
    pub count: u32,
    /// Whether the module also has a copy of the kernel without the probe, named with [`NATIVE_SUFFIX`].
    pub native: bool,
}

/// A site at which a handler is called. Its slot (index in [`DefinedProbe::sites`]) is the lower half of its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointSite {
    /// Index of the point in the definition.
    pub point: u32,
    pub at: At,
    /// Mangled name of the function.
    pub function: String,
    pub file: String,
    /// Source line, from 1; 0 when unknown.
    pub line: u32,
    /// Source column, from 1; 0 when unknown.
    pub column: u32,
    /// Name of the instruction's operation, such as `icmp`; for a block, its name.
    pub what: String,
    /// Index of the basic block in its function, from 0.
    pub block: u32,
    /// For an access, its operation as in the capture; for an instruction matched by class, LLVM's opcode; otherwise 0.
    pub operation: u32,
    /// Size of an access in bytes (0 if it varies), or of a value or result in bits; for a block, its number of
    /// instructions.
    pub width: u32,
    /// For a block, the indices of its possible successors; for a branch, those of its two targets.
    pub successors: Vec<u32>,
    /// For a block, its lowest and highest source lines in the function's own file.
    pub lines: Option<(u32, u32)>,
    /// On the CPU backend, the number of following sites that are logged in the same entry.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub followers: u32,
}
