//! `--explain`: lists each memory operation with its address space and the reasons for that space.

use crate::ir::{Module, traits::*};
use crate::operation::{is_opaque, memory_operations};
use crate::space::{Analysis, Fact, Space};
use crate::specialise::Copies;
use anyhow::Result;
use superstep_trace::explanation::{Explanation, MemoryOperation, SCHEMA_VERSION};
use superstep_trace::{Proof, display_name};

pub fn explain(module: &Module, copies: &Copies, allow_opaque: bool) -> Result<Explanation> {
    let analysis = Analysis::of(module);
    let (mut operations, mut opaque) = (Vec::new(), 0);
    for function in module.defined_functions() {
        let name = function.name();
        let context = copies.contexts.get(&name).cloned();
        let displayed = context.unwrap_or_else(|| display_name(&name));
        for instruction in function.instructions() {
            opaque += u64::from(allow_opaque && is_opaque(instruction));
            for operation in memory_operations(module, instruction, allow_opaque)? {
                let fact = operation.fact(&analysis);
                let space = fact.name();
                let undecided = space == "undecided";
                let (decision, reasons) = if undecided {
                    (Proof::Tested, analysis.origins(operation.pointer))
                } else {
                    (Proof::Proven, analysis.chain(operation.pointer))
                };
                let reasons = reasons.into_iter().map(|origin| match origin.fact {
                    Fact::Is(_) if undecided => format!("{origin}: {}", origin.fact.name()),
                    _ => origin.to_string(),
                });
                let location = instruction.location();
                operations.push(MemoryOperation {
                    symbol: name.clone(),
                    function: displayed.clone(),
                    file: location.file,
                    line: location.line,
                    column: location.column,
                    op: operation.op,
                    width_bytes: operation.width.known_bytes(),
                    space: space.to_owned(),
                    decision,
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
