//! Finds operations whose number of executions depends on how long threads wait for each other.
//!
//! A loop waits if it only polls memory until another thread has written it: the value that it reads may change while
//! the loop runs (the load is volatile, atomic or inline PTX, or always has the same address), and decides when the
//! loop ends. A loop that counts up to the value does not wait. The value that is finally read may depend on timing
//! too, as in the look-back of a scan, which continues from tile to tile until it finds a complete sum. These
//! operations therefore count as waiting:
//!
//! - all operations in a loop that waits, and in enclosing loops that do nothing else and whose end depends on the
//!   value;
//! - operations on a lock (`atomicCAS`, `atomicExch`) in any loop that they can end;
//! - any load whose execution depends on the value that such a loop has read. Stores and atomic operations that
//!   depend on the value are the program's work, done by exactly one thread, and are compared with the counting run
//!   like all others.

use crate::graph::{Flow, Loop};
use crate::ir::{Block, Call, Function, Instruction, Module, Opcode::*, Type, Value, traits::*};
use crate::operation::{MemoryOperation, memory_operations};
use crate::reach::reach;
use crate::space::{Analysis, Fact, Space};
use std::collections::HashSet;
use superstep_trace::Op;

struct Waits<'m, 'a> {
    module: &'m Module,
    analysis: &'a Analysis<'m>,
    /// Functions that return a value that they have read without waiting.
    readers: HashSet<Function<'m>>,
    /// Functions that return a value for which they have waited.
    waiters: HashSet<Function<'m>>,
    found: HashSet<Instruction<'m>>,
}

pub fn find<'m>(module: &'m Module, analysis: &Analysis<'m>) -> HashSet<Instruction<'m>> {
    let mut waits = Waits {
        module,
        analysis,
        readers: HashSet::new(),
        waiters: HashSet::new(),
        found: HashSet::new(),
    };
    let functions = module.defined_functions();
    // A function's result affects its callers, which may come before it.
    let counts = |it: &Waits| [it.readers.len(), it.waiters.len(), it.found.len()];
    loop {
        let before = counts(&waits);
        functions.iter().for_each(|it| waits.analyse(*it));
        if before == counts(&waits) {
            return waits.found;
        }
    }
}

impl<'m> Waits<'m, '_> {
    fn analyse(&mut self, function: Function<'m>) {
        let reads: Vec<Instruction> = (function.instructions().into_iter())
            .filter(|instruction| self.may_read_global(*instruction))
            .collect();
        if reads.is_empty() {
            return;
        }
        let flow = Flow::of(function);
        let values: HashSet<Value> = reads.iter().map(|read| read.value()).collect();
        let loops: Vec<_> = (flow.loops().into_iter())
            .map(|cycle| (carried(&flow, &cycle, &values), cycle))
            .collect();
        let mut awaited: HashSet<Value> = HashSet::new();
        for read in reads {
            let block = flow.number(read.parent_block());
            let mut enclosing = (loops.iter())
                .filter(|(_, cycle)| cycle.blocks.contains(&block))
                .peekable();
            if self.is_call_to(read, &self.waiters) {
                awaited.insert(read.value());
            }
            let may_change = self.may_change(read);
            if enclosing.peek().is_none() && (function.is_kernel() || !may_change) {
                continue;
            }
            let dependent = follow([read.value()]);
            if may_change && returns(function, &dependent) {
                self.readers.insert(function);
            }
            for (carried, cycle) in enclosing {
                if !may_change && !has_fixed_address(read, &flow, cycle) {
                    continue;
                }
                let dependent = decisive(read.value(), carried);
                let decides = |exit: &usize| branches_on(&flow, *exit, &dependent);
                if !flow.exits(cycle).iter().any(decides) {
                    continue;
                }
                if self.only_polls(&flow, cycle) {
                    awaited.insert(read.value());
                    let blocks = cycle.blocks.iter().map(|block| flow.blocks[*block]);
                    self.mark(blocks, |_| true);
                } else if self.is_lock(read) {
                    self.found.insert(read);
                }
            }
        }
        let dependent = follow(awaited);
        if returns(function, &dependent) {
            self.waiters.insert(function);
        }
        let decides = |block: &usize| branches_on(&flow, *block, &dependent);
        let branches = (0..flow.blocks.len()).filter(decides);
        let dependents = flow.dependents(branches).into_iter();
        let blocks = dependents.filter_map(|block| flow.blocks.get(block).copied());
        self.mark(blocks, |op| op == Op::Load);
    }

    /// Marks the memory operations for which `is_wanted` is true, in blocks and in the functions that they call.
    fn mark(&mut self, blocks: impl Iterator<Item = Block<'m>>, is_wanted: fn(Op) -> bool) {
        let instructions: Vec<_> = blocks.flat_map(|block| block.instructions()).collect();
        let calls = instructions.iter().filter_map(|it| it.as_call());
        let called = reach(calls.filter_map(Call::defined_function), Function::callees);
        let in_callees = called.into_iter().flat_map(|it| it.instructions());
        for instruction in instructions.into_iter().chain(in_callees) {
            let operations = self.operations(instruction);
            if operations.iter().any(|it| is_wanted(it.op)) {
                self.found.insert(instruction);
            }
        }
    }

    fn operations(&self, instruction: Instruction<'m>) -> Vec<MemoryOperation<'m>> {
        // Operations that cannot be traced are reported elsewhere.
        memory_operations(self.module, instruction, true).unwrap_or_default()
    }

    /// Returns whether an instruction loads a value that other threads may write, or calls a function that returns one.
    fn may_read_global(&self, instruction: Instruction<'m>) -> bool {
        let is_call_to = |functions| self.is_call_to(instruction, functions);
        if is_call_to(&self.readers) || is_call_to(&self.waiters) {
            return true;
        }
        let mut operations = self.operations(instruction).into_iter();
        let is_read = |it: MemoryOperation<'m>| {
            let is_not_global =
                matches!(it.fact(self.analysis), Fact::Is(space) if space != Space::Global);
            it.op.reads() && !is_not_global
        };
        !instruction.ty().is_void_type() && operations.any(is_read)
    }

    fn is_call_to(&self, instruction: Instruction<'m>, functions: &HashSet<Function<'m>>) -> bool {
        let called = instruction.as_call().and_then(Call::defined_function);
        called.is_some_and(|function| functions.contains(&function))
    }

    fn is_lock(&self, instruction: Instruction<'m>) -> bool {
        let mut operations = self.operations(instruction).into_iter();
        operations.any(|it| matches!(it.op, Op::AtomicCas | Op::AtomicExch))
    }

    /// Returns whether the program declares that the value may change at any time.
    fn may_change(&self, read: Instruction<'m>) -> bool {
        match (read.get_opcode(), read.as_call()) {
            (Load, _) => read.is_volatile() || read.is_atomic(),
            (_, Some(call)) => (call.get_called_fn_value()).is_none_or(|it| !it.is_intrinsic()),
            _ => true,
        }
    }

    /// Returns whether a loop changes no global memory, except to acquire a lock.
    fn only_polls(&self, flow: &Flow<'m>, cycle: &Loop) -> bool {
        let mut blocks = cycle.blocks.iter().map(|block| flow.blocks[*block]);
        blocks.all(|block| block.get_instructions().all(|it| self.is_idle(it)))
    }

    fn is_idle(&self, instruction: Instruction<'m>) -> bool {
        let Ok(operations) = memory_operations(self.module, instruction, false) else {
            return false;
        };
        let non_global = [Space::Shared, Space::Local, Space::Parameter].map(Fact::Is);
        let mut operations = operations.iter();
        if !operations.all(|it| match it.op {
            Op::Load | Op::AtomicCas | Op::AtomicExch => true,
            _ => non_global.contains(&it.fact(self.analysis)) || only_reads(instruction),
        }) {
            return false;
        }
        let Some(call) = instruction.as_call() else {
            return true;
        };
        match call.get_called_fn_value() {
            None => !call.is_indirect(),
            Some(function) if function.is_intrinsic() => true,
            Some(function) if function.is_declaration() => false,
            Some(function) => {
                let functions = reach([function], Function::callees);
                let mut instructions = functions.into_iter().flat_map(|it| it.instructions());
                instructions.all(|it| {
                    // The functions that these instructions call are already included.
                    let called = it.as_call().and_then(Call::defined_function);
                    called.is_some() || self.is_idle(it)
                })
            }
        }
    }
}

/// Returns all values that are computed from or selected by `values`, but not those loaded through them.
fn follow<'m>(values: impl IntoIterator<Item = Value<'m>>) -> HashSet<Value<'m>> {
    reach(values, |value| {
        let users = value.using_instructions().into_iter();
        users.flat_map(move |user| dependents_through(user, value))
    })
}

/// Returns the values, such as counters, that a loop computes in each iteration from values of the previous iteration,
/// ignoring dependences through `read` values.
fn carried<'m>(flow: &Flow<'m>, cycle: &Loop, read: &HashSet<Value<'m>>) -> HashSet<Value<'m>> {
    let is_inside = |block| cycle.blocks.contains(&flow.number(block));
    let mut carried = HashSet::new();
    let head = flow.blocks.get(cycle.head).into_iter();
    for phi in head.flat_map(|head| phis(*head)) {
        let dependents = reach([phi.value()], |value| {
            let users = value.using_instructions().into_iter();
            users
                .filter(|user| is_inside(user.parent_block()) && !read.contains(&user.value()))
                .flat_map(|user| dependents_through(user, value))
                .collect::<Vec<_>>()
        });
        let is_next = |(value, block): &(Value<'m>, Block<'m>)| {
            is_inside(*block) && *value != phi.value() && dependents.contains(value)
        };
        if phi.incoming().iter().any(is_next) {
            carried.extend(dependents);
        }
    }
    carried
}

/// Returns the values that depend on a value that a loop reads, but not on values `carried` by the loop: conditions
/// that do not change until the value changes.
fn decisive<'m>(read: Value<'m>, carried: &HashSet<Value<'m>>) -> HashSet<Value<'m>> {
    reach([read], |value| {
        let users = value.using_instructions().into_iter();
        let is_decisive = |user: &Instruction<'m>| {
            let operands = user.operands().into_iter();
            let mut others = operands.filter(|it| *it != value);
            user.ty() == Type::int(1) && matches!(user.get_opcode(), And | Or | Xor | Select | Phi)
                || !others.any(|it| carried.contains(&it))
        };
        users
            .filter(is_decisive)
            .flat_map(|user| dependents_through(user, value))
            .collect::<Vec<_>>()
    })
}

/// Returns whether a load has the same address in each iteration, so that only other threads can change its value.
fn has_fixed_address<'m>(read: Instruction<'m>, flow: &Flow<'m>, cycle: &Loop) -> bool {
    read.get_opcode() == Load && {
        let address = read.operand(0).as_instruction();
        address.is_none_or(|it| !cycle.blocks.contains(&flow.number(it.parent_block())))
    }
}

fn phis<'m>(block: Block<'m>) -> impl Iterator<Item = Instruction<'m>> {
    let instructions = block.get_instructions();
    instructions.take_while(|it| it.get_opcode() == Phi)
}

/// Returns the values that depend on `value` through one of its users.
fn dependents_through<'m>(user: Instruction<'m>, value: Value<'m>) -> Vec<Value<'m>> {
    match user.get_opcode() {
        Load => Vec::new(),
        // The value may be stored in a variable on the thread's stack.
        Store if user.operand(0) == value => {
            let variable = base(user.operand(1));
            let is_local = variable.opcode() == Some(Alloca);
            let mut loads = Vec::new();
            reach([variable].into_iter().filter(|_| is_local), |address| {
                let mut users = address.users();
                loads.extend(users.extract_if(.., |it| it.opcode() == Some(Load)));
                users.retain(|it| it.opcode().is_some_and(derives_address));
                users
            });
            loads
        }
        // A phi of constants depends on the branch.
        Br | Switch => {
            let targets = user.parent_block().successors();
            let next = targets.iter().flat_map(|block| block.successors());
            let phis = next.chain(targets.clone()).flat_map(|block| phis(block));
            let constant = |phi: &Instruction| phi.incoming().iter().all(|(it, _)| it.is_known());
            phis.filter(constant).map(|phi| phi.value()).collect()
        }
        _ if user.ty().is_void_type() => Vec::new(),
        _ => vec![user.value()],
    }
}

fn derives_address(opcode: crate::ir::Opcode) -> bool {
    matches!(opcode, GetElementPtr | BitCast | AddrSpaceCast)
}

/// Returns the pointer from which an address is computed.
fn base(mut pointer: Value) -> Value {
    while pointer.opcode().is_some_and(derives_address) {
        pointer = pointer.operand(0);
    }
    pointer
}

/// Returns whether an atomic operation only reads, like an addition of zero.
fn only_reads(instruction: Instruction) -> bool {
    use crate::ir::AtomicRMWBinOp as Rmw;
    let operation = instruction.get_atomic_rmw_bin_op();
    matches!(operation, Some(Rmw::Add | Rmw::Sub | Rmw::Or | Rmw::Xor))
        && instruction.operand(1).constant_integer() == Some(0)
}

fn returns<'m>(function: Function<'m>, values: &HashSet<Value<'m>>) -> bool {
    let mut instructions = function.instructions().into_iter();
    instructions.any(|it| it.get_opcode() == Return && uses(it, values))
}

fn uses<'m>(instruction: Instruction<'m>, values: &HashSet<Value<'m>>) -> bool {
    let mut operands = instruction.operands().into_iter();
    operands.any(|it| values.contains(&it))
}

fn branches_on<'m>(flow: &Flow<'m>, block: usize, values: &HashSet<Value<'m>>) -> bool {
    let block = flow.blocks.get(block);
    let terminator = block.and_then(|block| block.get_terminator());
    terminator.is_some_and(|it| it.get_opcode() != Return && uses(it, values))
}
