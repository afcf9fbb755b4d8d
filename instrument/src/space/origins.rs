//! Where a pointer comes from, in words: the chain that proves its space, or the origins that disagree.

use super::{Analysis, Fact, Space};
use crate::ir::{Location, Opcode, Value, ValueKind};
use std::collections::HashSet;

/// Longer chains are cut here; they are for people.
const LONGEST_CHAIN: usize = 24;

/// A place that a pointer can come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The space that it points into, as far as this origin goes.
    pub fact: Fact,
    /// What it is.
    pub what: String,
    /// Where it stands.
    pub location: Location,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if self.location.line > 0 {
            write!(f, " ({})", self.location)
        } else {
            Ok(())
        }
    }
}

impl Analysis {
    /// The steps from `pointer` back to where it comes from; at a fork, along the first way.
    pub fn chain(&self, pointer: Value) -> Vec<Origin> {
        let (mut chain, mut seen, mut next) = (Vec::new(), HashSet::new(), Some(pointer));
        while let Some(value) = next.filter(|v| seen.insert(*v) && chain.len() < LONGEST_CHAIN) {
            chain.push(self.describe(value));
            next = self
                .predecessors(value)
                .into_iter()
                .find(|p| self.fact(*p) != Fact::Unknown);
        }
        chain
    }

    /// Every origin of `pointer`, nearest first.
    pub fn origins(&self, pointer: Value) -> Vec<Origin> {
        let (mut origins, mut seen, mut pending) = (Vec::new(), HashSet::new(), vec![pointer]);
        while let Some(value) = pending.pop() {
            if !seen.insert(value) {
                continue;
            }
            let predecessors = self.predecessors(value);
            if predecessors.is_empty() {
                origins.push(self.describe(value));
            }
            pending.extend(predecessors);
        }
        origins
    }

    /// The pointers that a pointer is made from; none when it is an origin.
    fn predecessors(&self, pointer: Value) -> Vec<Value> {
        match pointer.kind() {
            ValueKind::LLVMArgumentValueKind => {
                let function = pointer.parent_function();
                let index = function
                    .parameters()
                    .iter()
                    .position(|p| *p == pointer)
                    .unwrap_or_default() as u32;
                if function.is_kernel()
                    || function.is_by_value(index)
                    || self.address_taken.contains(&function)
                {
                    return Vec::new();
                }
                self.calls
                    .get(&function)
                    .into_iter()
                    .flatten()
                    .map(|call| call.operand(index))
                    .collect()
            }
            ValueKind::LLVMInstructionValueKind | ValueKind::LLVMConstantExprValueKind => {
                match pointer.opcode() {
                    Some(
                        Opcode::LLVMGetElementPtr
                        | Opcode::LLVMBitCast
                        | Opcode::LLVMAddrSpaceCast
                        | Opcode::LLVMFreeze,
                    ) => vec![pointer.operand(0)],
                    Some(Opcode::LLVMPHI) => pointer.incoming(),
                    Some(Opcode::LLVMSelect) => vec![pointer.operand(1), pointer.operand(2)],
                    Some(Opcode::LLVMCall) => match pointer.callee().as_function() {
                        Some(callee) if !callee.is_declaration() => callee
                            .instructions()
                            .into_iter()
                            .filter(|i| i.opcode() == Some(Opcode::LLVMRet))
                            .flat_map(Value::operands)
                            .collect(),
                        _ => Vec::new(),
                    },
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn describe(&self, value: Value) -> Origin {
        Origin {
            fact: self.fact(value),
            what: self.words(value),
            location: value.location(),
        }
    }

    fn words(&self, value: Value) -> String {
        let named = |kind: &str| match value.name() {
            name if name.is_empty() => kind.to_owned(),
            name => format!("{kind} {}", crate::sites::display_name(&name)),
        };
        match value.kind() {
            ValueKind::LLVMArgumentValueKind => {
                let function = value.parent_function();
                let index = function
                    .parameters()
                    .iter()
                    .position(|p| *p == value)
                    .unwrap_or_default();
                let how = if function.is_by_value(index as u32) {
                    "by-value parameter"
                } else {
                    "parameter"
                };
                let whose = if function.is_kernel() {
                    "kernel"
                } else {
                    "function"
                };
                format!(
                    "{how} {index} of {whose} {}",
                    crate::sites::display_name(&function.name())
                )
            }
            ValueKind::LLVMGlobalVariableValueKind => match self.fact(value) {
                Fact::Is(Space::Shared) => named("shared variable"),
                Fact::Is(Space::Constant) => named("constant variable"),
                _ => named("global variable"),
            },
            ValueKind::LLVMConstantPointerNullValueKind => "null".to_owned(),
            ValueKind::LLVMInstructionValueKind | ValueKind::LLVMConstantExprValueKind => {
                match value.opcode() {
                    Some(Opcode::LLVMAlloca) => named("local variable"),
                    Some(Opcode::LLVMGetElementPtr) => "an element of it".to_owned(),
                    Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast | Opcode::LLVMFreeze) => {
                        "a cast".to_owned()
                    }
                    Some(Opcode::LLVMPHI) => {
                        "one of several, by the way taken here (phi)".to_owned()
                    }
                    Some(Opcode::LLVMSelect) => "one of two, by a condition (select)".to_owned(),
                    Some(Opcode::LLVMIntToPtr) => "an address made from a number".to_owned(),
                    Some(Opcode::LLVMLoad) => match self.fact(value.operand(0)) {
                        Fact::Is(Space::Parameter) => {
                            "a pointer inside a by-value parameter".to_owned()
                        }
                        Fact::Is(Space::Constant) => "a pointer in constant memory".to_owned(),
                        _ => "a pointer read from memory".to_owned(),
                    },
                    Some(Opcode::LLVMCall) => match value.callee().as_function() {
                        Some(callee) => format!(
                            "the result of {}",
                            crate::sites::display_name(&callee.name())
                        ),
                        None => "the result of an indirect call or inline PTX".to_owned(),
                    },
                    _ => "a pointer that the analysis does not follow".to_owned(),
                }
            }
            _ => "a constant that the analysis does not follow".to_owned(),
        }
    }
}
