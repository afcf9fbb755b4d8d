//! Address-space analysis: determines which operations access global memory (Rieber 2017, section 5.3.1).
//!
//! This is a must-analysis over the def-use chains of the whole module. Each pointer gets a [`Fact`] from the lattice
//! *unknown* < *one definite space* < *mixed*; [`join`] is its least upper bound. The transfer function (in
//! `transfer.rs`) is monotone, and each fact rises at most twice, so the iteration terminates even with recursion.
//! Addresses that are *mixed* at the end are tested when the program runs. `contexts.rs` finds the contexts in which
//! each function is called, so that each context can get its own copy.

mod contexts;
mod memory;
mod origins;
mod sources;
mod transfer;

pub use contexts::{Context, Contexts};
pub use memory::only_read;

use crate::ir::{Call, Function, Instruction, Module, Opcode, Value, space, traits::*};
use memory::Memory;
use std::collections::HashMap;
use transfer::{Facts, fixed_parameter_fact};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Memory that all CTAs share and that outlives a launch; the only space that is traced.
    Global,
    Shared,
    /// Read-only memory that the host fills.
    Constant,
    Local,
    Parameter,
}

impl Space {
    /// Returns the fact for an NVPTX address-space number, or `None` for the generic space.
    fn from_number(number: u32) -> Option<Fact> {
        Some(match number {
            space::GENERIC => return None,
            space::GLOBAL => Fact::Is(Space::Global),
            space::SHARED | space::CLUSTER => Fact::Is(Space::Shared),
            space::CONSTANT => Fact::Is(Space::Constant),
            space::LOCAL => Fact::Is(Space::Local),
            space::PARAMETER => Fact::Is(Space::Parameter),
            _ => Fact::Mixed,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The pointer has not been reached (yet), or is null or undefined.
    Unknown,
    /// The pointer always points into this space.
    Is(Space),
    /// The pointer may point into multiple spaces, or is not analysed.
    Mixed,
}

/// Returns the least upper bound of two facts.
pub fn join(left: Fact, right: Fact) -> Fact {
    match (left, right) {
        (Fact::Unknown, other) | (other, Fact::Unknown) => other,
        (a, b) if a == b => a,
        _ => Fact::Mixed,
    }
}

pub struct Analysis<'m> {
    facts: HashMap<(Value<'m>, u32), Fact>,
    calls: HashMap<Function<'m>, Vec<Call<'m>>>,
    address_taken: Vec<Function<'m>>,
    memory: Memory,
}

impl<'m> Analysis<'m> {
    /// Analyses a whole module, which defines all relevant functions.
    pub fn of(module: &'m Module) -> Self {
        // Assume at first that memory contains only pointers to global memory. If a store contradicts this assumption,
        // repeat the analysis without it. The assumption is inductive: its first violation would be such a store.
        let analysis = Self::assuming(Memory::GLOBAL, module);
        match Memory::of(module, &analysis) {
            Memory::GLOBAL => analysis,
            memory => Self::assuming(memory, module),
        }
    }

    fn assuming(memory: Memory, module: &'m Module) -> Self {
        let (mut calls, mut address_taken) = (HashMap::new(), Vec::new());
        for function in module.functions() {
            if function.is_address_taken() {
                address_taken.push(function);
            }
            calls.insert(function, function.callers().collect());
        }
        let mut analysis = Self {
            facts: HashMap::new(),
            calls,
            address_taken,
            memory,
        };
        analysis.iterate(module);
        analysis
    }

    pub fn fact(&self, pointer: Value<'m>) -> Fact {
        self.part(pointer, 0)
    }

    /// Finds the contexts of the module's functions, using this analysis's facts about memory.
    pub fn contexts(&self, module: &'m Module) -> Contexts<'m> {
        contexts::find(module, self.memory, &self.address_taken)
    }

    fn iterate(&mut self, module: &'m Module) {
        let functions = module.defined_functions();
        let bodies: Vec<(Function, Vec<Instruction>)> =
            functions.iter().map(|f| (*f, f.instructions())).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (function, instructions) in &bodies {
                for (index, parameter) in function.parameters().into_iter().enumerate() {
                    for part in 0..parameter.ty().pointers() {
                        let fact = self.parameter(*function, index as u32, part);
                        changed |= raise(&mut self.facts, (parameter, part), fact);
                    }
                }
                for instruction in instructions {
                    for (value, part, fact) in self.derive(*instruction) {
                        changed |= raise(&mut self.facts, (value, part), fact);
                    }
                }
            }
        }
    }

    /// Returns the fact about a parameter (Rieber 2017: direct and indirect kernel parameters).
    fn parameter(&self, function: Function<'m>, index: u32, part: u32) -> Fact {
        if let Some(fact) = fixed_parameter_fact(function, index) {
            return fact;
        }
        if self.address_taken.contains(&function) {
            return Fact::Mixed;
        }
        let calls = self.calls.get(&function).map_or(&[][..], Vec::as_slice);
        calls.iter().fold(Fact::Unknown, |fact, call| {
            join(fact, self.part(call.operand(index), part))
        })
    }
}

fn returned<'m>(instruction: Instruction<'m>) -> Option<Value<'m>> {
    (instruction.get_opcode() == Opcode::Return && instruction.operand_count() == 1)
        .then(|| instruction.operand(0))
}

/// Raises the fact for `key`; returns whether it changed.
fn raise<K: Eq + std::hash::Hash>(facts: &mut HashMap<K, Fact>, key: K, fact: Fact) -> bool {
    let known = facts.entry(key).or_insert(Fact::Unknown);
    let joined = join(*known, fact);
    std::mem::replace(known, joined) != joined
}

impl<'m> Facts<'m> for Analysis<'m> {
    fn known(&self, value: Value<'m>, part: u32) -> Fact {
        let known = self.facts.get(&(value, part)).copied();
        known.unwrap_or(Fact::Unknown)
    }

    fn result(&self, _call: Call<'m>, callee: Function<'m>, part: u32) -> Fact {
        self.known(callee.value(), part)
    }

    fn memory(&self) -> Memory {
        self.memory
    }
}

#[cfg(test)]
mod tests;
