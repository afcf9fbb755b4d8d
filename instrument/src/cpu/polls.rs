//! Loops that look at global memory until another thread has written there.

use crate::ir::{Builder, Module, Opcode::LLVMLoad, Type};
use crate::reach::reach;

/// The runtime's function that lets the other threads of the CTA run.
pub const YIELD: &str = "__superstep_yield";

const GENERIC: u32 = 0;
const GLOBAL: u32 = 1;

/// Lets the other threads of the CTA run before each volatile load of a loop. Whoever loads so may wait for one of them, which on a GPU
/// runs at the same time; here it might never get its turn. Shared memory is left out: there `volatile` is most often the old way to keep a
/// sum among lanes in memory.
pub fn allow(module: &Module) {
    let functions = module.defined_functions().into_iter();
    for load in functions.flat_map(|f| f.instructions()) {
        let polls = load.operation() == LLVMLoad
            && load.is_volatile()
            && matches!(load.operand(0).ty().address_space(), GENERIC | GLOBAL);
        let block = load.parent_block();
        if polls && reach(block.successors(), |b| b.successors()).contains(&block) {
            let others_run = module.declare(YIELD, Type::void().function(&[]));
            Builder::before(load).call(others_run, &[]);
        }
    }
}
