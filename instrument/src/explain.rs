//! `--explain`: each memory operation of a module, its space, and why.

use crate::ir::Module;
use crate::operation::{Width, memory_operations};
use crate::sites::display_name;
use crate::space::{Analysis, Fact, Space};
use anyhow::Result;
use serde::Serialize;

/// Version of the explanation's JSON.
const SCHEMA_VERSION: u32 = 1;

/// What `--explain` writes.
#[derive(Debug, Serialize)]
pub struct Explanation {
    schema_version: u32,
    /// Copies of device functions that specialisation made.
    clones: usize,
    operations: Vec<Explained>,
}

#[derive(Debug, Serialize)]
struct Explained {
    function: String,
    file: String,
    line: u32,
    column: u32,
    op: &'static str,
    /// Bytes; 0 when known only at run time.
    width_bytes: u32,
    /// `global`, `shared`, `local`, `constant`, `parameter`, or `undecided`.
    space: &'static str,
    /// `proven` (traced if the space is global, else left alone) or `tested` (asked at run time).
    decision: &'static str,
    /// From the address back to where it comes from; when undecided, the origins that disagree.
    because: Vec<String>,
}

/// Explains every memory operation, with the analysis that the probes are placed by.
pub fn explain(
    module: &Module,
    analysis: &Analysis,
    clones: usize,
    allow_opaque: bool,
) -> Result<Explanation> {
    let mut operations = Vec::new();
    for function in module.defined_functions() {
        for instruction in function.instructions() {
            for operation in memory_operations(module, instruction, allow_opaque)? {
                let fact = analysis.fact(operation.pointer);
                let space = match fact {
                    Fact::Is(space) => space.name(),
                    Fact::Unknown | Fact::Mixed => "undecided",
                };
                let undecided = space == "undecided";
                let reasons = if undecided {
                    analysis.origins(operation.pointer)
                } else {
                    analysis.chain(operation.pointer)
                };
                let location = instruction.location();
                operations.push(Explained {
                    function: display_name(&function.name()),
                    file: location.file,
                    line: location.line,
                    column: location.column,
                    op: operation.op.name(),
                    width_bytes: match operation.width {
                        Width::Fixed(bytes) => bytes,
                        Width::Varies(_) => 0,
                    },
                    space,
                    decision: if undecided { "tested" } else { "proven" },
                    because: reasons
                        .into_iter()
                        .map(|origin| match origin.fact {
                            Fact::Is(space) if undecided => format!("{origin}: {}", space.name()),
                            _ => origin.to_string(),
                        })
                        .collect(),
                });
            }
        }
    }
    Ok(Explanation {
        schema_version: SCHEMA_VERSION,
        clones,
        operations,
    })
}

impl Space {
    /// The space's name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Constant => "constant",
            Space::Local => "local",
            Space::Parameter => "parameter",
        }
    }
}
