//! Where a probe went in: the table that the instrumenter leaves in a module.

use super::{At, ProbeSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A defined probe in one module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinedProbe {
    pub spec: ProbeSpec,
    /// Every place, by its slot.
    pub sites: Vec<PointSite>,
    /// The slots that each kernel can reach, by mangled name.
    pub kernels: BTreeMap<String, KernelSlots>,
}

/// Suffix of the name of a kernel's copy without the probe.
pub const NATIVE_SUFFIX: &str = "__superstep_native";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSlots {
    pub first: u32,
    pub count: u32,
    /// Whether the kernel is there without the probe too, under its name and [`NATIVE_SUFFIX`].
    pub native: bool,
}

/// One place at which a handler is called. Its slot, the position in [`DefinedProbe::sites`], is the lower half of its site's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointSite {
    /// Which point of the definition.
    pub point: u32,
    pub at: At,
    /// Mangled name of the function.
    pub function: String,
    pub file: String,
    /// Source line, from 1; 0 when unknown.
    pub line: u32,
    /// Source column, from 1; 0 when unknown.
    pub column: u32,
    /// Name of the instruction's operation, `icmp` for instance; of a block, its name.
    pub what: String,
    /// Number of the basic block in its function, from 0.
    pub block: u32,
    /// Operation of an access, by the numbers of the capture; of an instruction of a class, LLVM's number of the operation; else 0.
    pub operation: u32,
    /// Bytes of an access (0: varies), bits of a value or of an instruction's result; of a block, its instructions.
    pub width: u32,
    /// Of a block: the blocks that may follow, by number. Of a branch: its two targets.
    pub successors: Vec<u32>,
    /// Of a block: the lowest and the highest source line of the function's own file in it.
    pub lines: Option<(u32, u32)>,
    /// CPU backend: how many of the places behind this one are logged with it, in one entry.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub followers: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
