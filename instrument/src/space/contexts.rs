//! Context-sensitive analysis: in which ways each device function is called.
//!
//! A *context* of a function is the list of facts of its pointer parameters. Kernels have one; every call creates one
//! for its callee. Facts are kept apart by context, so the two calls of figure 5.6 in Rieber 2017 do not meet. The number
//! of contexts is finite (facts to the power of parameters) and bounded by [`MAXIMUM_CONTEXTS`], so recursion ends.

use super::transfer::{Facts, own_parameter};
use super::{Fact, Memory, Space, raise, returned};
use crate::ir::{Function, Module, Opcode, Value};
use crate::mutation;
use std::collections::{HashMap, HashSet};

/// Contexts of one function at most; what goes beyond is analysed together, with all parameters mixed.
const MAXIMUM_CONTEXTS: usize = 32;

/// A function and the facts of the pointers that its parameters hold, in their order.
pub type Context = (Function, Vec<Fact>);

/// The contexts that occur, in the order in which they were reached, and what each call in each of them leads to.
pub struct Contexts {
    /// Every context that a kernel reaches.
    pub reached: Vec<Context>,
    /// For a context and a call in its function: the context that the call leads to.
    pub targets: HashMap<(Context, Value), Context>,
}

struct Solver {
    memory: Memory,
    bodies: HashMap<Function, Vec<Value>>,
    facts: HashMap<(Context, Value, u32), Fact>,
    results: HashMap<(Context, u32), Fact>,
    counts: HashMap<Function, HashSet<Vec<Fact>>>,
}

/// A view of the solver for one context.
struct View<'a> {
    solver: &'a Solver,
    context: &'a Context,
}

impl Facts for View<'_> {
    fn known(&self, value: Value, part: u32) -> Fact {
        let key = (self.context.clone(), value, part);
        let known = self.solver.facts.get(&key).copied();
        known.unwrap_or(Fact::Unknown)
    }

    fn result(&self, call: Value, callee: Function, part: u32) -> Fact {
        let key = (self.target(call, callee), part);
        let known = self.solver.results.get(&key).copied();
        known.unwrap_or(Fact::Unknown)
    }

    fn memory(&self) -> Memory {
        self.solver.memory
    }
}

impl View<'_> {
    /// The context in which `call` runs `callee`.
    fn target(&self, call: Value, callee: Function) -> Context {
        let facts = parameter_facts(callee, |index, part| self.part(call.operand(index), part));
        let known = self.solver.counts.get(&callee);
        let most = if mutation::active("one-context") {
            1
        } else {
            MAXIMUM_CONTEXTS
        };
        if known.is_some_and(|known| known.len() >= most && !known.contains(&facts)) {
            return undecided(callee);
        }
        (callee, facts)
    }
}

/// The context of a function that anything may call.
fn undecided(function: Function) -> Context {
    let undecided_fact = if mutation::active("indirect-callee-global") {
        Fact::Is(Space::Global)
    } else {
        Fact::Mixed
    };
    let facts = parameter_facts(function, |_, _| undecided_fact);
    (function, facts)
}

/// The facts of the pointers in a function's parameters; `given` says what the caller gives as a part of a parameter.
fn parameter_facts(function: Function, given: impl Fn(u32, u32) -> Fact) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (index, parameter) in (0..).zip(function.parameters()) {
        for part in 0..parameter.ty().pointers() {
            facts.push(own_parameter(function, index).unwrap_or_else(|| given(index, part)));
        }
    }
    facts
}

/// Finds the contexts of a module.
pub fn find(module: &Module, memory: Memory, address_taken: &[Function]) -> Contexts {
    let functions = module.defined_functions();
    let bodies = functions.iter().map(|f| (*f, f.instructions())).collect();
    let mut solver = Solver {
        memory,
        bodies,
        facts: HashMap::new(),
        results: HashMap::new(),
        counts: HashMap::new(),
    };
    let roots: Vec<Context> = functions
        .iter()
        .filter(|f| f.is_kernel() || address_taken.contains(f))
        .map(|f| undecided(*f))
        .collect();
    loop {
        let (reached, changed) = solver.sweep(&roots);
        if !changed {
            let targets = solver.targets(&reached);
            return Contexts { reached, targets };
        }
    }
}

impl Solver {
    /// One pass over everything that the roots reach with today's facts.
    fn sweep(&mut self, roots: &[Context]) -> (Vec<Context>, bool) {
        let (mut reached, mut seen) = (Vec::new(), HashSet::new());
        let mut pending: Vec<Context> = roots.iter().rev().cloned().collect();
        let mut changed = false;
        while let Some(context) = pending.pop() {
            if !seen.insert(context.clone()) {
                continue;
            }
            self.counts
                .entry(context.0)
                .or_default()
                .insert(context.1.clone());
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
                if let Some(callee) = defined_callee(instruction) {
                    pending.push(view.target(instruction, callee));
                }
                for part in 0..instruction.ty().pointers() {
                    let view = View {
                        solver: self,
                        context: &context,
                    };
                    let fact = view.transfer(instruction, part);
                    changed |= raise(&mut self.facts, (context.clone(), instruction, part), fact);
                }
                if let Some(value) = returned(instruction) {
                    for part in 0..value.ty().pointers() {
                        let view = View {
                            solver: self,
                            context: &context,
                        };
                        let fact = view.part(value, part);
                        changed |= raise(&mut self.results, (context.clone(), part), fact);
                    }
                }
            }
            reached.push(context);
        }
        (reached, changed)
    }

    fn targets(&self, reached: &[Context]) -> HashMap<(Context, Value), Context> {
        let mut targets = HashMap::new();
        for context in reached {
            let view = View {
                solver: self,
                context,
            };
            for instruction in self.bodies.get(&context.0).into_iter().flatten() {
                if let Some(callee) = defined_callee(*instruction) {
                    targets.insert(
                        (context.clone(), *instruction),
                        view.target(*instruction, callee),
                    );
                }
            }
        }
        targets
    }
}

fn defined_callee(instruction: Value) -> Option<Function> {
    (instruction.opcode() == Some(Opcode::LLVMCall))
        .then(|| instruction.callee().as_function())
        .flatten()
        .filter(|callee| !callee.is_declaration())
}
