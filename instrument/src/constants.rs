//! Which constants lie in global memory: those that do for nvcc.

use crate::ir::{Module, Variable, traits::*};
use std::collections::HashSet;

const GENERIC: u32 = 0;
const GLOBAL: u32 = 1;
const CONSTANT: u32 = 4;

/// What `harness/compatibility/old_cuda.h` has Clang note of a variable that is `__constant__`.
const DECLARED: &str = "superstep-constant";

const CONSTANT_BYTES: u64 = 64 << 10;

/// Clang's name for the initial value of a variable that a function keeps on its stack, up to the function's and the variable's.
const INITIAL_VALUE: &str = "__const.";

/// Puts into global memory what Clang puts into constant memory though it is not `__constant__`: variables of type `const`, whether
/// `__device__` or of the host, and those that are `static` in functions.
pub fn place(module: &mut Module) {
    let declared: HashSet<String> = (module.annotations().into_iter())
        .filter(|annotation| annotation.text == DECLARED)
        .map(|annotation| annotation.value.name())
        .collect();
    let is_constant = |v: &Variable| v.ty().address_space() == CONSTANT && !v.is_declaration();
    for name in names(module, |v| is_constant(v) && !declared.contains(&v.name())) {
        module.move_variable(&name, GLOBAL);
    }
}

/// Keeps out of global memory what a function keeps on its stack: nvcc stores each number there, where Clang loads all of them from a
/// constant. They come into constant memory, as far as it goes.
pub fn place_initial_values(module: &mut Module) {
    let bytes = |variable: Variable| module.allocated_size_bytes(variable.value_type());
    let variables = module.variables().into_iter();
    let constants = variables.filter(|v| v.ty().address_space() == CONSTANT);
    let mut room = CONSTANT_BYTES.saturating_sub(constants.map(bytes).sum());
    let fits = |variable: &Variable| {
        let is_one = variable.ty().address_space() == GENERIC
            && variable.is_constant()
            && variable.name().starts_with(INITIAL_VALUE);
        // Each may begin at a multiple of 16 bytes.
        let size = bytes(*variable).next_multiple_of(16);
        let fits = is_one && size <= room;
        room -= if fits { size } else { 0 };
        fits
    };
    for name in names(module, fits) {
        module.move_variable(&name, CONSTANT);
    }
}

fn names(module: &Module, wanted: impl FnMut(&Variable) -> bool) -> Vec<String> {
    let wanted = module.variables().into_iter().filter(wanted);
    wanted.map(|variable| variable.name()).collect()
}
