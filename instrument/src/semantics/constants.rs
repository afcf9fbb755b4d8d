//! Places constants in the same memory as nvcc does.

use crate::ir::{Module, Variable, space::*, traits::*};
use std::collections::HashSet;

/// Annotation of `__constant__` variables, from `harness/compatibility/old_cuda.h`.
const DECLARED: &str = "superstep-constant";

const CONSTANT_BYTES: u64 = 64 << 10;

/// Prefix of Clang's names for the initial values of stack variables.
const INITIAL_VALUE: &str = "__const.";

/// Moves `const` variables that are not `__constant__` from constant memory, where Clang puts them, to global memory:
/// `__device__` and host variables, and `static` variables in functions.
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

/// Moves the initial values of stack variables from global to constant memory, if they fit. nvcc stores each value to
/// the stack, whereas Clang copies all of them from a constant.
pub fn place_initial_values(module: &mut Module) {
    let bytes = |variable: Variable| module.allocated_size_bytes(variable.value_type());
    let variables = module.variables().into_iter();
    let constants = variables.filter(|v| v.ty().address_space() == CONSTANT);
    let mut room = CONSTANT_BYTES.saturating_sub(constants.map(bytes).sum());
    let fits = |variable: &Variable| {
        let is_initial_value = variable.ty().address_space() == GENERIC
            && variable.is_constant()
            && variable.name().starts_with(INITIAL_VALUE);
        // Each may be aligned to 16 bytes.
        let size = bytes(*variable).next_multiple_of(16);
        let fits = is_initial_value && size <= room;
        room -= if fits { size } else { 0 };
        fits
    };
    for name in names(module, fits) {
        module.move_variable(&name, CONSTANT);
    }
}

fn names(module: &Module, predicate: impl FnMut(&Variable) -> bool) -> Vec<String> {
    let variables = module.variables().into_iter().filter(predicate);
    variables.map(|variable| variable.name()).collect()
}
