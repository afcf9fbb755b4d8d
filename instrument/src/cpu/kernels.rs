//! What the CPU runtime must know of a kernel, and the thunk through which it calls one.

use crate::ir::{Builder, Function, Linkage, Module, Opcode, Value};
use std::collections::HashSet;

/// A kernel as the CPU runtime sees it.
pub struct CpuKernel {
    /// The kernel.
    pub function: Function,
    /// Mangled name.
    pub name: String,
    /// Its own parameters.
    pub parameters: u32,
    /// Whether its threads wait for each other, so that each needs a stack of its own.
    pub needs_fibers: bool,
    /// Bytes of `__shared__` variables that it or its callees use.
    pub static_shared_bytes: u64,
}

/// Intrinsics in which a thread waits for others or asks about them.
const WAITING: &[&str] = &[
    "llvm.nvvm.bar",
    "llvm.nvvm.shfl.",
    "llvm.nvvm.vote.",
    "llvm.nvvm.match.",
    "llvm.nvvm.redux.",
    "llvm.nvvm.activemask",
    "llvm.nvvm.nanosleep",
    "llvm.nvvm.mbarrier",
    "llvm.nvvm.cp.async.mbarrier",
    "llvm.nvvm.elect",
];

/// Describes the kernels of a module that is still in device form.
pub fn describe(module: &Module) -> Vec<CpuKernel> {
    module
        .defined_functions()
        .into_iter()
        .filter(|f| f.is_kernel())
        .map(|f| describe_kernel(module, f))
        .collect()
}

fn describe_kernel(module: &Module, kernel: Function) -> CpuKernel {
    let (mut reached, mut pending) = (HashSet::from([kernel]), vec![kernel]);
    let mut needs_fibers = false;
    while let Some(function) = pending.pop() {
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            match call.callee().as_function() {
                Some(callee) if callee.is_declaration() => {
                    let name = callee.name();
                    needs_fibers |= WAITING.iter().any(|prefix| name.starts_with(prefix));
                }
                Some(callee) => {
                    if reached.insert(callee) {
                        pending.push(callee);
                    }
                }
                // Nobody knows what an indirect call leads to; inline assembly may name a barrier.
                None => {
                    needs_fibers |= call.callee().inline_assembly().is_none_or(|(template, _)| {
                        let waits = [
                            "bar.",
                            "barrier.",
                            "shfl.",
                            "vote.",
                            "match.",
                            "activemask",
                            ".acquire",
                        ];
                        waits.iter().any(|w| template.contains(w))
                    });
                }
            }
        }
    }
    let shared = module
        .globals()
        .into_iter()
        .filter(|g| g.ty().address_space() == 3 && !g.is_declaration());
    let static_shared_bytes = shared
        .filter(|global| users_in(*global).iter().any(|f| reached.contains(f)))
        .map(|global| module.allocated_size_bytes(global.value_type()))
        .sum();
    CpuKernel {
        function: kernel,
        name: kernel.name(),
        parameters: kernel.parameters().len() as u32,
        needs_fibers,
        static_shared_bytes,
    }
}

/// Functions that use a value, directly or through constants.
fn users_in(value: Value) -> HashSet<Function> {
    let mut found = HashSet::new();
    for user in value.users() {
        if user.is_instruction() {
            found.insert(user.parent_function());
        } else {
            found.extend(users_in(user));
        }
    }
    found
}

/// Adds for each kernel `void thunk(void **args)`, which calls it with the arguments that `args` points to, as
/// `cudaLaunchKernel` gets them.
pub fn add_thunks(module: &Module, kernels: &[CpuKernel]) -> Vec<Function> {
    kernels
        .iter()
        .map(|kernel| add_thunk(module, kernel.function))
        .collect()
}

fn add_thunk(module: &Module, kernel: Function) -> Function {
    let pointer = module.pointer(0);
    let name = format!("superstep.thunk.{}", kernel.name());
    let thunk = module.add_function(&name, module.void().function(&[pointer], false));
    module.set_linkage(thunk.value(), Linkage::LLVMInternalLinkage);
    let builder = Builder::at_end(module, thunk.append_block("entry"));
    let list = thunk.parameters()[0];
    let arguments: Vec<Value> = kernel
        .parameters()
        .iter()
        .enumerate()
        .map(|(index, parameter)| {
            let slot = builder.offset(module, list, 8 * index as u64);
            let address = builder.load(pointer, slot);
            let ty = parameter.ty();
            if kernel.is_by_value(index as u32) {
                address
            } else if ty == module.int(1) {
                let byte = builder.load(module.int(8), address);
                builder.cast(Opcode::LLVMTrunc, byte, ty)
            } else {
                builder.load(ty, address)
            }
        })
        .collect();
    let call = builder.call(kernel.ty(), kernel.value(), &arguments);
    kernel.copy_parameter_attributes_to(call);
    builder.return_void();
    thunk
}
