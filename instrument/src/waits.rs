//! Finds operations whose number of executions depends on how long threads wait for each other.
//!
//! A loop waits if it only polls memory until another thread has written it: the value that it reads may change while it runs (the
//! load is volatile, atomic or inline PTX, or always has the same address), and decides when the loop ends. A loop that counts up to
//! the value does not wait. The value that is finally read may depend on timing too, as in the look-back of a scan, which continues
//! from tile to tile until it finds a complete sum. Therefore, these operations wait:
//!
//! - all operations in a loop that waits, and in loops around it that end depending on the value and do nothing else;
//! - operations on a lock (`atomicCAS`, `atomicExch`) in any loop that they can end;
//! - loads anywhere that execute depending on the value that such a loop has read. Stores and atomic operations there are the program's
//!   work, which is done once, by whichever thread, and are compared with the counting run like all others.

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
    /// Functions that return a value that they read without waiting.
    looks: HashSet<Function<'m>>,
    /// Functions that return a value for which they waited.
    waits: HashSet<Function<'m>>,
    found: HashSet<Instruction<'m>>,
}

pub fn find<'m>(module: &'m Module, analysis: &Analysis<'m>) -> HashSet<Instruction<'m>> {
    let mut all = Waits {
        module,
        analysis,
        looks: HashSet::new(),
        waits: HashSet::new(),
        found: HashSet::new(),
    };
    let functions = module.defined_functions();
    // A function's result affects its callers, which may come before it.
    loop {
        let before = (all.looks.len(), all.waits.len(), all.found.len());
        functions.iter().for_each(|function| all.look_at(*function));
        if before == (all.looks.len(), all.waits.len(), all.found.len()) {
            return all.found;
        }
    }
}

impl<'m> Waits<'m, '_> {
    fn look_at(&mut self, function: Function<'m>) {
        let looks: Vec<Instruction> = (function.instructions().into_iter())
            .filter(|instruction| self.is_look(*instruction))
            .collect();
        if looks.is_empty() {
            return;
        }
        let flow = Flow::of(function);
        let read: HashSet<Value> = looks.iter().map(|look| look.value()).collect();
        let loops: Vec<_> = (flow.loops().into_iter())
            .map(|one| (carried(&flow, &one, &read), one))
            .collect();
        let mut waited: HashSet<Value> = HashSet::new();
        for look in looks {
            let block = flow.number(look.parent_block());
            let mut around = (loops.iter())
                .filter(|(_, one)| one.blocks.contains(&block))
                .peekable();
            if self.is_call_of(look, &self.waits) {
                waited.insert(look.value());
            }
            let may_change = self.may_change(look);
            if around.peek().is_none() && (function.is_kernel() || !may_change) {
                continue;
            }
            let known = follow([look.value()]);
            if may_change && returns(function, &known) {
                self.looks.insert(function);
            }
            for (carried, one) in around {
                if !may_change && !is_same_place(look, &flow, one) {
                    continue;
                }
                let known = decisive(look.value(), carried);
                let decides = |exit: &usize| branches_on(&flow, *exit, &known);
                if !flow.exits(one).iter().any(decides) {
                    continue;
                }
                if self.only_looks(&flow, one) {
                    waited.insert(look.value());
                    self.mark(one.blocks.iter().map(|at| flow.blocks[*at]), |_| true);
                } else if self.is_lock(look) {
                    self.found.insert(look);
                }
            }
        }
        let known = follow(waited);
        if returns(function, &known) {
            self.waits.insert(function);
        }
        let branches = (0..flow.blocks.len()).filter(|at| branches_on(&flow, *at, &known));
        let decided = flow.decided_by(branches).into_iter();
        let blocks = decided.filter_map(|at| flow.blocks.get(at).copied());
        self.mark(blocks, |op| op == Op::Load);
    }

    /// Marks the wanted memory operations in blocks and in the functions that they call.
    fn mark(&mut self, blocks: impl Iterator<Item = Block<'m>>, is_wanted: fn(Op) -> bool) {
        let instructions: Vec<_> = blocks.flat_map(|block| block.instructions()).collect();
        let calls = instructions.iter().filter_map(|it| it.as_call());
        let called = reach(calls.filter_map(Call::defined_function), Function::callees);
        let theirs = called.into_iter().flat_map(|it| it.instructions());
        for instruction in instructions.into_iter().chain(theirs) {
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

    /// Whether an instruction reads memory that other threads may write, or calls a function that returns such a value.
    fn is_look(&self, instruction: Instruction<'m>) -> bool {
        if self.is_call_of(instruction, &self.looks) || self.is_call_of(instruction, &self.waits) {
            return true;
        }
        let mut operations = self.operations(instruction).into_iter();
        let is_read = |it: MemoryOperation<'m>| {
            let is_own =
                matches!(it.fact(self.analysis), Fact::Is(space) if space != Space::Global);
            it.op.reads() && !is_own
        };
        !instruction.ty().is_void_type() && operations.any(is_read)
    }

    fn is_call_of(&self, instruction: Instruction<'m>, functions: &HashSet<Function<'m>>) -> bool {
        let called = instruction.as_call().and_then(Call::defined_function);
        called.is_some_and(|function| functions.contains(&function))
    }

    fn is_lock(&self, instruction: Instruction<'m>) -> bool {
        let mut operations = self.operations(instruction).into_iter();
        operations.any(|it| matches!(it.op, Op::AtomicCas | Op::AtomicExch))
    }

    /// Whether the program declares that the value may change at any time.
    fn may_change(&self, look: Instruction<'m>) -> bool {
        match (look.get_opcode(), look.as_call()) {
            (Load, _) => look.is_volatile() || look.is_atomic(),
            (_, Some(call)) => (call.get_called_fn_value()).is_none_or(|it| !it.is_intrinsic()),
            _ => true,
        }
    }

    /// Whether a loop does nothing to memory that other threads see, except try to acquire a lock.
    fn only_looks(&self, flow: &Flow<'m>, one: &Loop) -> bool {
        let mut blocks = one.blocks.iter().map(|at| flow.blocks[*at]);
        blocks.all(|block| block.get_instructions().all(|it| self.is_idle(it)))
    }

    fn is_idle(&self, instruction: Instruction<'m>) -> bool {
        let Ok(operations) = memory_operations(self.module, instruction, false) else {
            return false;
        };
        let own = [Space::Shared, Space::Local, Space::Parameter].map(Fact::Is);
        let mut operations = operations.iter();
        if !operations.all(|it| match it.op {
            Op::Load | Op::AtomicCas | Op::AtomicExch => true,
            _ => own.contains(&it.fact(self.analysis)) || leaves_as_it_is(instruction),
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
                    // The functions that these call are already included.
                    let called = it.as_call().and_then(Call::defined_function);
                    called.is_some() || self.is_idle(it)
                })
            }
        }
    }
}

/// Returns all values that depend on these: those computed from them or selected by them, but not those loaded through them.
fn follow<'m>(values: impl IntoIterator<Item = Value<'m>>) -> HashSet<Value<'m>> {
    reach(values, |value| {
        let users = value.using_instructions().into_iter();
        users.flat_map(move |user| depends(user, value))
    })
}

/// Returns the values that a loop computes in each iteration from those of the previous one, such as counters, ignoring
/// dependences through `read` values.
fn carried<'m>(flow: &Flow<'m>, one: &Loop, read: &HashSet<Value<'m>>) -> HashSet<Value<'m>> {
    let is_inside = |block| one.blocks.contains(&flow.number(block));
    let mut all = HashSet::new();
    let head = flow.blocks.get(one.head).into_iter();
    for phi in head.flat_map(|head| phis(*head)) {
        let from_it = reach([phi.value()], |value| {
            let users = value.using_instructions().into_iter();
            users
                .filter(|user| is_inside(user.parent_block()) && !read.contains(&user.value()))
                .flat_map(|user| depends(user, value))
                .collect::<Vec<_>>()
        });
        let is_next = |(value, block): &(Value<'m>, Block<'m>)| {
            is_inside(*block) && *value != phi.value() && from_it.contains(value)
        };
        if phi.incoming().iter().any(is_next) {
            all.extend(from_it);
        }
    }
    all
}

/// Returns the values that depend on a value that a loop reads, and not on values `carried` by the loop: conditions that
/// do not change until the value changes.
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
            .flat_map(|user| depends(user, value))
            .collect::<Vec<_>>()
    })
}

/// Whether a load has the same address in each iteration of a loop, so that only other threads can change its value.
fn is_same_place<'m>(look: Instruction<'m>, flow: &Flow<'m>, one: &Loop) -> bool {
    look.get_opcode() == Load && {
        let address = look.operand(0).as_instruction();
        address.is_none_or(|it| !one.blocks.contains(&flow.number(it.parent_block())))
    }
}

fn phis<'m>(block: Block<'m>) -> impl Iterator<Item = Instruction<'m>> {
    let instructions = block.get_instructions();
    instructions.take_while(|it| it.get_opcode() == Phi)
}

/// Returns the values through which a user passes on a value.
fn depends<'m>(user: Instruction<'m>, value: Value<'m>) -> Vec<Value<'m>> {
    match user.get_opcode() {
        Load => Vec::new(),
        // The place may be a variable on the thread's stack.
        Store if user.operand(0) == value => {
            let place = base(user.operand(1));
            let is_own = place.opcode() == Some(Alloca);
            let mut loads = Vec::new();
            reach([place].into_iter().filter(|_| is_own), |place| {
                let mut users = place.users();
                loads.extend(users.extract_if(.., |it| it.opcode() == Some(Load)));
                users.retain(|it| it.opcode().is_some_and(leads_on));
                users
            });
            loads
        }
        // A phi of constants depends on the branch.
        Br | Switch => {
            let ways = user.parent_block().successors();
            let next = ways.iter().flat_map(|way| way.successors());
            let phis = next.chain(ways.clone()).flat_map(|way| phis(way));
            let constant = |phi: &Instruction| phi.incoming().iter().all(|(it, _)| it.is_known());
            phis.filter(constant).map(|phi| phi.value()).collect()
        }
        _ if user.ty().is_void_type() => Vec::new(),
        _ => vec![user.value()],
    }
}

fn leads_on(opcode: crate::ir::Opcode) -> bool {
    matches!(opcode, GetElementPtr | BitCast | AddrSpaceCast)
}

/// Returns the pointer from which an address is computed.
fn base(mut pointer: Value) -> Value {
    while pointer.opcode().is_some_and(leads_on) {
        pointer = pointer.operand(0);
    }
    pointer
}

/// Whether an atomic operation only reads, such as an addition of zero.
fn leaves_as_it_is(instruction: Instruction) -> bool {
    use crate::ir::AtomicRMWBinOp as Rmw;
    let operation = instruction.get_atomic_rmw_bin_op();
    matches!(operation, Some(Rmw::Add | Rmw::Sub | Rmw::Or | Rmw::Xor))
        && instruction.operand(1).constant_integer() == Some(0)
}

fn returns<'m>(function: Function<'m>, known: &HashSet<Value<'m>>) -> bool {
    let mut instructions = function.instructions().into_iter();
    instructions.any(|it| it.get_opcode() == Return && uses(it, known))
}

fn uses<'m>(instruction: Instruction<'m>, known: &HashSet<Value<'m>>) -> bool {
    let mut operands = instruction.operands().into_iter();
    operands.any(|it| known.contains(&it))
}

fn branches_on<'m>(flow: &Flow<'m>, block: usize, known: &HashSet<Value<'m>>) -> bool {
    let block = flow.blocks.get(block);
    let terminator = block.and_then(|block| block.get_terminator());
    terminator.is_some_and(|it| it.get_opcode() != Return && uses(it, known))
}
