//! Where a module's variables lie on the GPU: a table that the runtime reads once the module is loaded.
//!
//! The host's registration code names only the variables that host code uses. Tables of CUDA's mathematics, virtual-function
//! tables and strings lie in global memory too, and have symbols that no host function finds.

use crate::ir::{Function, Linkage, Module, Type, Value, Variable};

/// Name of the table: for each variable its address and its bytes.
pub const TABLE: &str = "__superstep_globals";
/// Name of the variables' names, each ended by a zero byte, in the table's order.
pub const NAMES: &str = "__superstep_global_names";

/// What the row of a kernel that may call `malloc` is named with, before the kernel's name. It has neither address nor bytes.
pub const DEVICE_HEAP_OF: &str = "device malloc heap of ";

/// The variables of the user's module that lie in global or constant memory.
pub fn device_variables(module: &Module) -> Vec<Variable<'_>> {
    module
        .variables()
        .into_iter()
        .filter(|g| !g.is_declaration() && matches!(g.ty().address_space(), 0 | 1 | 4))
        .filter(|g| {
            !g.is_thread_local()
                && !g.name().starts_with("llvm.")
                && !g.name().starts_with("superstep.")
        })
        .collect()
}

/// Adds the table: the variables in global memory, and the kernels that allocate. A module with neither gets none.
pub fn add_table(module: &Module) {
    let variables: Vec<Variable> = device_variables(module)
        .into_iter()
        .filter(|variable| variable.ty().address_space() != 4)
        .collect();
    let allocating = allocating_kernels(module);
    if variables.is_empty() && allocating.is_empty() {
        return;
    }
    let (pointer, bytes) = (Type::pointer(0), Type::int(64));
    let mut rows: Vec<Value> = variables
        .iter()
        .map(|variable| {
            module.constant_struct(&[
                variable.as_generic_constant(),
                bytes.constant(module.allocated_size_bytes(variable.value_type())),
            ])
        })
        .collect();
    let mut names = Vec::new();
    for variable in &variables {
        names.extend_from_slice(variable.name().as_bytes());
        names.push(0);
    }
    for kernel in allocating {
        rows.push(module.constant_struct(&[pointer.null(), bytes.constant(0)]));
        names.extend_from_slice(DEVICE_HEAP_OF.as_bytes());
        names.extend_from_slice(kernel.as_bytes());
        names.push(0);
    }
    let row = Type::structure(&[pointer, bytes]);
    let table = module.add_constant(TABLE, module.constant_array(row, &rows));
    let names = module.add_string(NAMES, &names);
    for visible in [table, names] {
        visible.set_linkage(Linkage::LLVMExternalLinkage);
    }
}

/// Names of the kernels from which calls lead to `malloc`; one that calls what it computes may come there too.
fn allocating_kernels(module: &Module) -> Vec<String> {
    let Some(malloc) = module.function("malloc") else {
        return Vec::new();
    };
    let functions = module.defined_functions();
    let mut allocating = vec![malloc];
    loop {
        let before = allocating.len();
        for &function in &functions {
            if !allocating.contains(&function) && calls_one_of(function, &allocating) {
                allocating.push(function);
            }
        }
        if allocating.len() == before {
            break;
        }
    }
    (allocating.into_iter().filter(|f| f.is_kernel()))
        .map(|f| f.name())
        .collect()
}

fn calls_one_of(function: Function, callees: &[Function]) -> bool {
    function.calls().any(|call| match call.function() {
        Some(callee) => callees.contains(&callee),
        None => call.is_indirect(),
    })
}
