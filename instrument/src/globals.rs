//! Table of a module's variables on the GPU, which the runtime reads after loading the module.
//!
//! The host's registration code names only the variables that host code uses. Tables for CUDA's math functions,
//! virtual-function tables and strings are in global memory too, but no host function can find their symbols.

use crate::children;
use crate::context::with_callers;
use crate::ir::{Function, Linkage, Module, Type, Variable, space::*, traits::*};

/// Table with the address and size in bytes of each variable.
pub const TABLE: &str = "__superstep_globals";
/// NUL-terminated names of the variables, in the table's order.
pub const NAMES: &str = "__superstep_global_names";

/// Prefix of the row name for a kernel that may call `malloc`; the row's address and size are 0.
pub const DEVICE_HEAP_PREFIX: &str = "device malloc heap of ";

pub fn device_variables(module: &Module) -> Vec<Variable<'_>> {
    let is_internal = |name: &str| name.starts_with("llvm.") || name.starts_with("superstep.");
    let mut variables = module.variables();
    let spaces = [GENERIC, GLOBAL, CONSTANT];
    variables.retain(|g| !g.is_declaration() && spaces.contains(&g.ty().address_space()));
    variables.retain(|g| !g.is_thread_local() && !is_internal(&g.name()));
    variables
}

/// Adds the table of the variables in global memory and the kernels that allocate, unless it would be empty.
pub fn add_table(module: &Module) {
    let mut variables = device_variables(module);
    variables.retain(|variable| variable.ty().address_space() != CONSTANT);
    let allocating = allocating_kernels(module);
    if variables.is_empty() && allocating.is_empty() {
        return;
    }
    let (pointer, bytes) = (Type::pointer(0), Type::int(64));
    let (mut rows, mut names) = (Vec::new(), String::new());
    for variable in variables {
        let size = module.allocated_size_bytes(variable.value_type());
        let address = variable.as_generic_constant();
        rows.push(module.constant_struct(&[address, bytes.constant(size)]));
        names += &format!("{}\0", variable.name());
    }
    for kernel in allocating {
        rows.push(module.constant_struct(&[pointer.null(), bytes.constant(0)]));
        names += &format!("{DEVICE_HEAP_PREFIX}{kernel}\0");
    }
    let row = Type::structure(&[pointer, bytes]);
    let table = module.add_constant(TABLE, module.constant_array(row, &rows));
    let names = module.add_string(NAMES, names.as_bytes());
    for variable in [table, names] {
        variable.set_linkage(Linkage::External);
    }
}

fn allocating_kernels(module: &Module) -> Vec<String> {
    let heap: Vec<Function> = ["malloc", children::MALLOC]
        .iter()
        .filter_map(|name| module.function(name))
        .collect();
    if heap.is_empty() {
        return Vec::new();
    }
    let calls_indirectly = |f: &Function| f.calls().any(|call| call.is_indirect());
    let mut sources = module.defined_functions();
    sources.retain(calls_indirectly);
    let allocating = with_callers(sources.into_iter().chain(heap).collect());
    let mut kernels = module.kernels();
    kernels.retain(|kernel| allocating.contains(kernel));
    kernels.into_iter().map(|kernel| kernel.name()).collect()
}
