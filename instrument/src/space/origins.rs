//! Describes the origin of a pointer: the chain that proves its space, or the origins that disagree.

use super::transfer::{Facts, forwarded_parts};
use super::{Analysis, Fact, Space, returned};
use crate::ir::Opcode::{self, *};
use crate::ir::{Location, Value, ValueKind::*, traits::*};
use std::collections::HashSet;
use superstep_trace::display_name;

/// Maximum length of a chain; longer chains are truncated for readability.
const MAX_CHAIN: usize = 24;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
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
    /// Returns the steps from `pointer` back to its origin, along the first path at each fork.
    pub fn chain(&self, pointer: Value<'m>) -> Vec<Origin> {
        let (mut chain, mut seen, mut next) = (Vec::new(), HashSet::new(), Some((pointer, 0)));
        while let Some(step) = next.filter(|it| seen.insert(*it) && chain.len() < MAX_CHAIN) {
            chain.push(self.describe(step));
            let mut before = self.predecessors(step).into_iter();
            next = before.find(|(value, part)| self.part(*value, *part) != Fact::Unknown);
        }
        chain
    }

    pub fn origins(&self, pointer: Value<'m>) -> Vec<Origin> {
        let (mut origins, mut seen) = (Vec::new(), HashSet::new());
        let mut pending = vec![(pointer, 0)];
        while let Some(step) = pending.pop() {
            if !seen.insert(step) {
                continue;
            }
            let predecessors = self.predecessors(step);
            if predecessors.is_empty() {
                origins.push(self.describe(step));
            }
            pending.extend(predecessors);
        }
        origins
    }

    /// Returns the value parts from which the given part of a value is derived; an origin has none.
    fn predecessors(&self, (value, part): (Value<'m>, u32)) -> Vec<(Value<'m>, u32)> {
        let same_part = |values: Vec<Value<'m>>| values.into_iter().map(|v| (v, part)).collect();
        if let Some((function, index)) = value.as_parameter() {
            if function.is_kernel()
                || function.is_by_value(index)
                || self.address_taken.contains(&function)
            {
                return Vec::new();
            }
            let calls = self.calls.get(&function).into_iter().flatten();
            return same_part(calls.map(|call| call.operand(index)).collect());
        }
        forwarded_parts(value, part).unwrap_or_else(|| {
            let callee = value.as_call().and_then(|call| call.defined_function());
            let body = callee.map(|f| f.instructions()).unwrap_or_default();
            same_part(body.into_iter().filter_map(returned).collect())
        })
    }

    fn describe(&self, (value, part): (Value<'m>, u32)) -> Origin {
        Origin {
            fact: self.part(value, part),
            what: self.description(value),
            location: value.location(),
        }
    }

    fn description(&self, value: Value<'m>) -> String {
        let named = |kind: &str| match value.name() {
            name if name.is_empty() => kind.to_owned(),
            name => format!("{kind} {}", display_name(&name)),
        };
        if let Some((function, index)) = value.as_parameter() {
            let name = display_name(&function.name());
            let (kind, owner) = match (function.is_by_value(index), function.is_kernel()) {
                (true, true) => ("by-value ", "kernel"),
                (true, false) => ("by-value ", "function"),
                (false, true) => ("", "kernel"),
                (false, false) => ("", "function"),
            };
            return format!("{kind}parameter {index} of {owner} {name}");
        }
        let description = match (value.kind(), value.opcode()) {
            (LLVMGlobalVariableValueKind, _) => match self.fact(value) {
                Fact::Is(Space::Shared) => return named("shared variable"),
                Fact::Is(Space::Constant) => return named("constant variable"),
                _ => return named("global variable"),
            },
            (LLVMConstantPointerNullValueKind, _) => "null",
            (_, None) => "a constant that the analysis does not follow",
            (_, Some(opcode)) => match opcode {
                Alloca => return named("local variable"),
                GetElementPtr => "an element",
                AddrSpaceCast | BitCast | Freeze => "a cast",
                Phi => "one of several pointers, depending on the path taken (phi)",
                Select => "one of two pointers, depending on a condition (select)",
                ExtractValue => "a member of a struct",
                InsertValue => "a struct built here",
                ExtractElement => "an element of a vector",
                InsertElement | ShuffleVector => "a vector built here",
                IntToPtr => "an address converted from an integer",
                Load => match self.fact(value.operand(0)) {
                    Fact::Is(Space::Parameter) => "a pointer inside a by-value parameter",
                    Fact::Is(Space::Constant) => "a pointer in constant memory",
                    _ => "a pointer read from memory",
                },
                Opcode::Call => match value.as_call().and_then(|call| call.get_called_fn_value()) {
                    Some(callee) => {
                        return format!("the result of {}", display_name(&callee.name()));
                    }
                    None => "the result of an indirect call or inline PTX",
                },
                _ => "a pointer that the analysis does not follow",
            },
        };
        description.to_owned()
    }
}
