//! Where a pointer comes from, in words: the chain that proves its space, or the origins that disagree.

use super::transfer::Facts;
use super::{Analysis, Fact, Space, returned};
use crate::ir::{Location, Opcode, Value, ValueKind};
use std::collections::HashSet;
use superstep_trace::display_name;

/// Longer chains are cut here; they are for people.
const LONGEST_CHAIN: usize = 24;

/// A place that a pointer can come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The space that it points into, as far as this origin goes.
    pub fact: Fact,
    pub what: String,
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

impl<'m> Analysis<'m> {
    /// The steps from `pointer` back to where it comes from; at a fork, along the first way.
    pub fn chain(&self, pointer: Value<'m>) -> Vec<Origin> {
        let (mut chain, mut seen, mut next) = (Vec::new(), HashSet::new(), Some((pointer, 0)));
        while let Some(place) = next.filter(|p| seen.insert(*p) && chain.len() < LONGEST_CHAIN) {
            chain.push(self.describe(place));
            next = self
                .predecessors(place)
                .into_iter()
                .find(|(value, part)| self.part(*value, *part) != Fact::Unknown);
        }
        chain
    }

    /// Every origin of `pointer`, nearest first.
    pub fn origins(&self, pointer: Value<'m>) -> Vec<Origin> {
        let (mut origins, mut seen) = (Vec::new(), HashSet::new());
        let mut pending = vec![(pointer, 0)];
        while let Some(place) = pending.pop() {
            if !seen.insert(place) {
                continue;
            }
            let predecessors = self.predecessors(place);
            if predecessors.is_empty() {
                origins.push(self.describe(place));
            }
            pending.extend(predecessors);
        }
        origins
    }

    /// The parts of values that a part of a value is made from; none when it is an origin.
    fn predecessors(&self, (value, part): (Value<'m>, u32)) -> Vec<(Value<'m>, u32)> {
        let same = |values: Vec<Value<'m>>| values.into_iter().map(|v| (v, part)).collect();
        if let Some((function, index)) = value.as_parameter() {
            if function.is_kernel()
                || function.is_by_value(index)
                || self.address_taken.contains(&function)
            {
                return Vec::new();
            }
            let calls = self.calls.get(&function).into_iter().flatten();
            return same(calls.map(|call| call.operand(index)).collect());
        }
        let instruction = value.as_instruction();
        match (value.opcode(), instruction) {
            (
                Some(
                    Opcode::LLVMGetElementPtr
                    | Opcode::LLVMBitCast
                    | Opcode::LLVMAddrSpaceCast
                    | Opcode::LLVMFreeze
                    | Opcode::LLVMExtractElement,
                ),
                _,
            ) => same(vec![value.operand(0)]),
            (Some(Opcode::LLVMSelect), _) => same(vec![value.operand(1), value.operand(2)]),
            (Some(Opcode::LLVMInsertElement | Opcode::LLVMShuffleVector), _) => {
                same(vec![value.operand(0), value.operand(1)])
            }
            (Some(Opcode::LLVMPHI), Some(phi)) => {
                same(phi.incoming().into_iter().map(|(value, _)| value).collect())
            }
            (Some(Opcode::LLVMExtractValue), Some(extract)) => {
                let whole = value.operand(0);
                let (place, _) = whole.ty().member_at(&extract.indices());
                vec![(whole, place + part)]
            }
            (Some(Opcode::LLVMInsertValue), Some(insert)) => {
                let (place, ty) = value.ty().member_at(&insert.indices());
                match part.checked_sub(place) {
                    Some(inside) if inside < ty.pointers() => vec![(value.operand(1), inside)],
                    _ => vec![(value.operand(0), part)],
                }
            }
            (_, Some(instruction)) => {
                let call = instruction.as_call();
                let callee = call.and_then(|call| call.defined_function());
                let body = callee.map(|f| f.instructions()).unwrap_or_default();
                same(body.into_iter().filter_map(returned).collect())
            }
            _ => Vec::new(),
        }
    }

    fn describe(&self, (value, part): (Value<'m>, u32)) -> Origin {
        Origin {
            fact: self.part(value, part),
            what: self.words(value),
            location: value.location(),
        }
    }

    fn words(&self, value: Value<'m>) -> String {
        let named = |kind: &str| match value.name() {
            name if name.is_empty() => kind.to_owned(),
            name => format!("{kind} {}", display_name(&name)),
        };
        if let Some((function, index)) = value.as_parameter() {
            let how = if function.is_by_value(index) {
                "by-value parameter"
            } else {
                "parameter"
            };
            let whose = if function.is_kernel() {
                "kernel"
            } else {
                "function"
            };
            return format!(
                "{how} {index} of {whose} {}",
                display_name(&function.name())
            );
        }
        match value.kind() {
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
                        "one of several, depending on the path taken (phi)".to_owned()
                    }
                    Some(Opcode::LLVMSelect) => {
                        "one of two, depending on a condition (select)".to_owned()
                    }
                    Some(Opcode::LLVMExtractValue) => "a member of a struct".to_owned(),
                    Some(Opcode::LLVMInsertValue) => "a struct that is built here".to_owned(),
                    Some(Opcode::LLVMExtractElement) => "an element of a vector".to_owned(),
                    Some(Opcode::LLVMInsertElement | Opcode::LLVMShuffleVector) => {
                        "a vector that is built here".to_owned()
                    }
                    Some(Opcode::LLVMIntToPtr) => "an address made from a number".to_owned(),
                    Some(Opcode::LLVMLoad) => match self.fact(value.operand(0)) {
                        Fact::Is(Space::Parameter) => {
                            "a pointer inside a by-value parameter".to_owned()
                        }
                        Fact::Is(Space::Constant) => "a pointer in constant memory".to_owned(),
                        _ => "a pointer read from memory".to_owned(),
                    },
                    Some(Opcode::LLVMCall) => {
                        let call = value.as_call();
                        match call.and_then(|call| call.function()) {
                            Some(callee) => {
                                format!("the result of {}", display_name(&callee.name()))
                            }
                            None => "the result of an indirect call or inline PTX".to_owned(),
                        }
                    }
                    _ => "a pointer that the analysis does not follow".to_owned(),
                }
            }
            _ => "a constant that the analysis does not follow".to_owned(),
        }
    }
}
