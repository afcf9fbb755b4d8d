//! `--explain`: lists each memory operation with its address space and the reasons for that space.

use crate::ir::{Module, traits::*};
use crate::operation::{is_opaque, memory_operations};
use crate::space::{Analysis, Fact, Space};
use crate::specialise::Copies;
use anyhow::Result;
use serde::Serialize;
use superstep_trace::display_name;

const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub struct Explanation {
    schema_version: u32,
    clones: usize,
    opaque_assembly: usize,
    operations: Vec<Explained>,
}

#[derive(Debug, Serialize)]
struct Explained {
    symbol: String,
    function: String,
    file: String,
    line: u32,
    column: u32,
    op: &'static str,
    width_bytes: u32,
    /// `global`, `shared`, `local`, `constant`, `parameter`, or `undecided`.
    space: &'static str,
    /// `proven` (traced only if the space is global) or `tested` (at run time).
    decision: &'static str,
    because: Vec<String>,
}

pub fn explain(module: &Module, copies: &Copies, allow_opaque: bool) -> Result<Explanation> {
    let analysis = Analysis::of(module);
    let (mut operations, mut opaque) = (Vec::new(), 0);
    for function in module.defined_functions() {
        let name = function.name();
        let context = copies.contexts.get(&name).cloned();
        let displayed = context.unwrap_or_else(|| display_name(&name));
        for instruction in function.instructions() {
            opaque += usize::from(allow_opaque && is_opaque(instruction));
            for operation in memory_operations(module, instruction, allow_opaque)? {
                let fact = operation.fact(&analysis);
                let space = fact.name();
                let undecided = space == "undecided";
                let reasons = if undecided {
                    analysis.origins(operation.pointer)
                } else {
                    analysis.chain(operation.pointer)
                };
                let reasons = reasons.into_iter().map(|origin| match origin.fact {
                    Fact::Is(_) if undecided => format!("{origin}: {}", origin.fact.name()),
                    _ => origin.to_string(),
                });
                let location = instruction.location();
                operations.push(Explained {
                    symbol: name.clone(),
                    function: displayed.clone(),
                    file: location.file,
                    line: location.line,
                    column: location.column,
                    op: operation.op.name(),
                    width_bytes: operation.width.known_bytes(),
                    space,
                    decision: if undecided { "tested" } else { "proven" },
                    because: reasons.collect(),
                });
            }
        }
    }
    Ok(Explanation {
        schema_version: SCHEMA_VERSION,
        clones: copies.added,
        opaque_assembly: opaque,
        operations,
    })
}

impl Fact {
    pub fn name(self) -> &'static str {
        match self {
            Fact::Is(Space::Global) => "global",
            Fact::Is(Space::Shared) => "shared",
            Fact::Is(Space::Constant) => "constant",
            Fact::Is(Space::Local) => "local",
            Fact::Is(Space::Parameter) => "parameter",
            Fact::Unknown | Fact::Mixed => "undecided",
        }
    }
}
