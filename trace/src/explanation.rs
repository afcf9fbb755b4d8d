//! The instrumenter's decisions about each memory operation, and the reasons for them.

use serde::{Deserialize, Serialize};

use crate::{Op, Proof};

pub const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub schema_version: u32,
    /// Number of copies of device functions created by specialisation.
    pub clones: u64,
    /// Number of inline PTX statements that were accepted untraced although their effects on memory are unknown.
    pub opaque_assembly: u64,
    pub operations: Vec<MemoryOperation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOperation {
    /// The enclosing kernel or device function, mangled. Omitted if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// The enclosing kernel or device function, demangled. For a specialised copy, its number and the address spaces of
    /// its pointers are appended: `copy_0(global, shared)`.
    pub function: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub op: Op,
    /// Width in bytes; 0 if known only at run time.
    pub width_bytes: u32,
    /// `global`, `shared`, `local`, `constant`, `parameter`, or `undecided`.
    pub space: String,
    /// A proven operation is traced only if its space is global.
    pub decision: Proof,
    /// Steps from the address back to its origin; if undecided, the conflicting origins.
    pub because: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub operations: u64,
    pub global: u64,
    pub proven: u64,
    pub tested: u64,
    /// `proven / operations`; 1 when there are none.
    pub share_proven: f64,
    pub clones: u64,
    pub opaque_assembly: u64,
}

impl Explanation {
    pub fn summary(&self) -> Summary {
        let count = |predicate: fn(&MemoryOperation) -> bool| {
            self.operations.iter().filter(|o| predicate(o)).count() as u64
        };
        let operations = self.operations.len() as u64;
        let proven = count(|o| o.decision == Proof::Proven);
        Summary {
            operations,
            global: count(|o| o.space == "global"),
            proven,
            tested: operations - proven,
            share_proven: match operations {
                0 => 1.0,
                _ => proven as f64 / operations as f64,
            },
            clones: self.clones,
            opaque_assembly: self.opaque_assembly,
        }
    }
}
