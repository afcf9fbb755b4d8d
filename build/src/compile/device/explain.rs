//! The instrumenter's decisions about each memory operation, and the reasons for them.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::compile::{BuildError, Builder, Program, Result};

/// Supported version of the instrumenter's explanations.
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub schema_version: u32,
    /// Number of copies of device functions created by specialisation.
    pub clones: u64,
    /// Number of inline PTX statements with unknown effects on memory, accepted untraced.
    pub opaque_assembly: u64,
    pub operations: Vec<MemoryOperation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOperation {
    #[serde(skip_serializing)]
    pub symbol: String,
    /// The enclosing kernel or device function, demangled. For a specialised copy, its number and the address spaces of
    /// its pointers are appended: `copy_0(global, shared)`.
    pub function: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// `load`, `store`, `atomic_add` and so on.
    pub op: String,
    /// Width in bytes; 0 if known only at run time.
    pub width_bytes: u32,
    /// `global`, `shared`, `local`, `constant`, `parameter`, or `undecided`.
    pub space: String,
    /// `proven` or `tested` (at run time).
    pub decision: String,
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
        let count = |predicate: &dyn Fn(&MemoryOperation) -> bool| {
            self.operations.iter().filter(|o| predicate(o)).count() as u64
        };
        let operations = count(&|_| true);
        let proven = count(&|o| o.decision == "proven");
        Summary {
            operations,
            global: count(&|o| o.space == "global"),
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

impl Builder {
    pub fn explain(&self, program: &Program) -> Result<Explanation> {
        let mut whole = Explanation {
            schema_version: SCHEMA_VERSION,
            ..Explanation::default()
        };
        for module in &self.parts(program)?.modules {
            let part = read(&self.explanation(module)?)?;
            whole.clones += part.clones;
            whole.opaque_assembly += part.opaque_assembly;
            whole.operations.extend(part.operations);
        }
        let location = |o: &MemoryOperation| (o.file.clone(), o.line, o.column);
        whole.operations.sort_by_cached_key(location);
        Ok(whole)
    }
}

fn read(path: &PathBuf) -> Result<Explanation> {
    let bytes = fs::read(path).map_err(BuildError::io("read", path))?;
    let why = match serde_json::from_slice::<Explanation>(&bytes) {
        Ok(Explanation { schema_version, .. }) if schema_version != SCHEMA_VERSION => {
            format!("its version is {schema_version}, not {SCHEMA_VERSION}")
        }
        Ok(explanation) => return Ok(explanation),
        Err(error) => error.to_string(),
    };
    Err(BuildError::installation(
        format!("a valid explanation in {}", path.display()),
        format!(
            "{why}; the harness and the instrumenter have different versions; unpack the archive again (in the repository, run `cargo xtask build`)"
        ),
    ))
}
