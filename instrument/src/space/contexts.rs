//! Context-sensitive analysis: finds the contexts in which each device function is called.
//!
//! A *context* of a function is the list of facts about its pointer parameters. A kernel has one context; each call
//! creates one for its callee. Facts are separate for each context, so the two calls of figure 5.6 in Rieber 2017 are
//! not joined. The number of contexts is finite (facts to the power of parameters) and limited by [`MAX_CONTEXTS`], so
//! recursion terminates.

use super::transfer::{Facts, fixed_parameter_fact};
use super::{Fact, Memory, raise};
use crate::ir::{Call, Function, Instruction, Module, Value, traits::*};
use std::collections::{HashMap, HashSet};

/// Maximum number of contexts per function; any others are analysed as one, with all parameters mixed.
const MAX_CONTEXTS: usize = 32;

/// A function, and the facts about its pointer parameters in order.
pub type Context<'m> = (Function<'m>, Vec<Fact>);

#[derive(Default)]
pub struct Contexts<'m> {
    pub reached: Vec<Context<'m>>,
    pub targets: HashMap<(Context<'m>, Call<'m>), Context<'m>>,
}

struct Solver<'m> {
    memory: Memory,
    bodies: HashMap<Function<'m>, Vec<Instruction<'m>>>,
    facts: HashMap<(Context<'m>, Value<'m>, u32), Fact>,
    counts: HashMap<Function<'m>, HashSet<Vec<Fact>>>,
}

struct View<'a, 'm> {
    solver: &'a Solver<'m>,
    context: &'a Context<'m>,
}

impl<'m> Facts<'m> for View<'_, 'm> {
    fn known(&self, value: Value<'m>, part: u32) -> Fact {
        let key = (self.context.clone(), value, part);
        let known = self.solver.facts.get(&key).copied();
        known.unwrap_or(Fact::Unknown)
    }

    fn result(&self, call: Call<'m>, callee: Function<'m>, part: u32) -> Fact {
        let context = &self.target(call, callee);
        View { context, ..*self }.known(callee.value(), part)
    }

    fn memory(&self) -> Memory {
        self.solver.memory
    }
}

impl<'m> View<'_, 'm> {
    fn target(&self, call: Call<'m>, callee: Function<'m>) -> Context<'m> {
        let facts = parameter_facts(callee, |index, part| self.part(call.operand(index), part));
        let known = self.solver.counts.get(&callee);
        if known.is_some_and(|known| known.len() >= MAX_CONTEXTS && !known.contains(&facts)) {
            return undecided(callee);
        }
        (callee, facts)
    }
}

fn undecided(function: Function<'_>) -> Context<'_> {
    (function, parameter_facts(function, |_, _| Fact::Mixed))
}

fn parameter_facts(function: Function, passed: impl Fn(u32, u32) -> Fact) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (index, parameter) in (0..).zip(function.parameters()) {
        for part in 0..parameter.ty().pointers() {
            let fixed = fixed_parameter_fact(function, index);
            facts.push(fixed.unwrap_or_else(|| passed(index, part)));
        }
    }
    facts
}

pub fn find<'m>(
    module: &'m Module,
    memory: Memory,
    address_taken: &[Function<'m>],
) -> Contexts<'m> {
    let functions = module.defined_functions();
    let bodies = functions.iter().map(|f| (*f, f.instructions())).collect();
    let mut solver = Solver {
        memory,
        bodies,
        facts: HashMap::new(),
        counts: HashMap::new(),
    };
    let roots: Vec<Context> = functions
        .iter()
        .filter(|f| f.is_kernel() || address_taken.contains(f))
        .map(|f| undecided(*f))
        .collect();
    loop {
        let (contexts, changed) = solver.sweep(&roots);
        if !changed {
            return contexts;
        }
    }
}

impl<'m> Solver<'m> {
    /// Performs one pass over everything that is reachable from the roots, with the current facts.
    fn sweep(&mut self, roots: &[Context<'m>]) -> (Contexts<'m>, bool) {
        let (mut contexts, mut seen) = (Contexts::default(), HashSet::new());
        let mut pending: Vec<Context> = roots.iter().rev().cloned().collect();
        let mut changed = false;
        while let Some(context) = pending.pop() {
            if !seen.insert(context.clone()) {
                continue;
            }
            let known = self.counts.entry(context.0).or_default();
            known.insert(context.1.clone());
            let mut facts = context.1.iter();
            for parameter in context.0.parameters() {
                for (part, fact) in (0..parameter.ty().pointers()).zip(&mut facts) {
                    changed |= raise(&mut self.facts, (context.clone(), parameter, part), *fact);
                }
            }
            let body = self.bodies.get(&context.0).cloned().unwrap_or_default();
            for instruction in body {
                let view = View {
                    solver: self,
                    context: &context,
                };
                if let Some(call) = instruction.as_call()
                    && let Some(callee) = call.defined_function()
                {
                    let target = view.target(call, callee);
                    pending.push(target.clone());
                    contexts.targets.insert((context.clone(), call), target);
                }
                for (value, part, fact) in view.derive(instruction) {
                    changed |= raise(&mut self.facts, (context.clone(), value, part), fact);
                }
            }
            contexts.reached.push(context);
        }
        (contexts, changed)
    }
}
