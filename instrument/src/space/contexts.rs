//! Context-sensitive analysis: in which ways each device function is called.
//!
//! A *context* of a function is the list of facts of its pointer parameters. Kernels have one; every call creates one
//! for its callee. Facts are kept apart by context, so the two calls of the thesis' figure 5.6 do not meet. The number
//! of contexts is finite (facts to the power of parameters) and bounded by [`MAXIMUM_CONTEXTS`], so recursion ends.

use super::transfer::{Facts, own_parameter};
use super::{Fact, Memory, Space, join};
use crate::ir::{Function, Module, Opcode, Value};
use crate::mutation;
use std::collections::{HashMap, HashSet};

/// Contexts of one function at most; what goes beyond is analysed together, with all parameters mixed.
const MAXIMUM_CONTEXTS: usize = 32;

/// A function and the facts of its parameters (`Unknown` for those that are no pointers).
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
    facts: HashMap<(Context, Value), Fact>,
    results: HashMap<Context, Fact>,
    counts: HashMap<Function, HashSet<Vec<Fact>>>,
}

/// A view of the solver for one context.
struct View<'a> {
    solver: &'a Solver,
    context: &'a Context,
}

impl Facts for View<'_> {
    fn known(&self, value: Value) -> Fact {
        self.solver
            .facts
            .get(&(self.context.clone(), value))
            .copied()
            .unwrap_or(Fact::Unknown)
    }

    fn result(&self, call: Value, callee: Function) -> Fact {
        self.solver
            .results
            .get(&self.target(call, callee))
            .copied()
            .unwrap_or(Fact::Unknown)
    }

    fn memory(&self) -> Memory {
        self.solver.memory
    }
}

impl View<'_> {
    /// The context in which `call` runs `callee`.
    fn target(&self, call: Value, callee: Function) -> Context {
        let facts: Vec<Fact> = callee
            .parameters()
            .iter()
            .enumerate()
            .map(|(index, parameter)| {
                if !parameter.ty().is_pointer() {
                    return Fact::Unknown;
                }
                own_parameter(callee, index as u32)
                    .unwrap_or_else(|| self.fact(call.operand(index as u32)))
            })
            .collect();
        let known = self.solver.counts.get(&callee);
        if known.is_some_and(|known| known.len() >= MAXIMUM_CONTEXTS && !known.contains(&facts)) {
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
    let facts = function
        .parameters()
        .iter()
        .enumerate()
        .map(|(index, p)| {
            if p.ty().is_pointer() {
                own_parameter(function, index as u32).unwrap_or(undecided_fact)
            } else {
                Fact::Unknown
            }
        })
        .collect();
    (function, facts)
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
            for (parameter, fact) in context.0.parameters().into_iter().zip(context.1.clone()) {
                changed |= raise(&mut self.facts, (context.clone(), parameter), fact);
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
                let fact = instruction
                    .ty()
                    .is_pointer()
                    .then(|| view.transfer(instruction));
                let returned = match instruction.operands()[..] {
                    [value]
                        if instruction.opcode() == Some(Opcode::LLVMRet)
                            && value.ty().is_pointer() =>
                    {
                        Some(view.fact(value))
                    }
                    _ => None,
                };
                if let Some(fact) = fact {
                    changed |= raise(&mut self.facts, (context.clone(), instruction), fact);
                }
                if let Some(fact) = returned {
                    changed |= raise(&mut self.results, context.clone(), fact);
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

fn raise<K: Eq + std::hash::Hash>(facts: &mut HashMap<K, Fact>, key: K, fact: Fact) -> bool {
    let known = facts.entry(key).or_insert(Fact::Unknown);
    let risen = join(*known, fact);
    let changed = risen != *known;
    *known = risen;
    changed
}
