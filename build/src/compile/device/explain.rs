//! Explains a program: merges the instrumenter's explanations of its modules.

use std::fs;
use std::path::PathBuf;

use superstep_trace::explanation::{Explanation, MemoryOperation, SCHEMA_VERSION};

use crate::compile::{BuildError, Builder, Program, Result};

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
