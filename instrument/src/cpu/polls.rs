//! Loops that poll global memory until another thread has written it.

use crate::ir::{Block, Builder, Call, Instruction, Module, Opcode::*, Type, space, traits::*};
use crate::ptx::{Effect, Template};
use crate::reach::reach;

/// Runtime function that lets the other threads of the CTA run.
pub const YIELD: &str = "__superstep_yield";

/// Attribute of inline PTX that a loop uses to poll.
pub const POLLS: &str = "superstep-polls";

/// Inserts a yield to the CTA's other threads before each volatile load in a loop, and before inline PTX with a load
/// that decides whether a loop continues: the loop may be waiting for another thread. Excludes shared memory, where
/// `volatile` is usually part of a warp-level reduction.
pub fn yield_before(module: &Module) {
    for instruction in module.instructions() {
        let polls = match instruction.as_call() {
            None => {
                let block = instruction.parent_block();
                is_volatile_load(instruction) && leads_to(block, block)
            }
            Some(call) => loads_global(call) && decides(call),
        };
        if polls {
            if let Some(call) = instruction.as_call() {
                call.set_text_attribute(POLLS, "");
            }
            Builder::before(instruction).call_named(module, YIELD, Type::void(), &[]);
        }
    }
}

fn is_volatile_load(instruction: Instruction) -> bool {
    let spaces = [space::GENERIC, space::GLOBAL];
    instruction.get_opcode() == Load
        && instruction.is_volatile()
        && spaces.contains(&instruction.operand(0).ty().address_space())
}

fn loads_global(call: Call) -> bool {
    let Some((template, _)) = call.callee().inline_assembly() else {
        return false;
    };
    Effect::of(&template) != Effect::None
        && Template::parse(&template).is_ok_and(|template| {
            let mut instructions = template.instructions();
            instructions.any(|i| ["ld", "ldu"].contains(&i.opcode.as_str()) && !i.has("shared"))
        })
}

fn leads_to(from: Block, to: Block) -> bool {
    reach(from.successors(), |b| b.successors()).contains(&to)
}

/// Returns whether the result of a call decides when the enclosing loop ends.
fn decides(call: Call) -> bool {
    let block = call.parent_block();
    let returns = |to: &Block| *to == block || leads_to(*to, block);
    let ends_loop = |user: Instruction| {
        let block = user.parent_block();
        let next = block.successors();
        block.get_terminator() == Some(user)
            && next.iter().any(returns)
            && !next.iter().all(returns)
    };
    let users = || reach([call.instruction()], |it| it.using_instructions()).into_iter();
    leads_to(block, block) && users().any(ends_loop)
}
