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
    /// Whether they only ever wait for all of the CTA, in the kernel itself, and end where the kernel ends, so that loops
    /// over the threads can take the place of fibers.
    pub can_loop: bool,
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
    let (mut needs_fibers, mut can_loop) = (false, true);
    while let Some(function) = pending.pop() {
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            match call.callee().as_function() {
                Some(callee) if callee.is_declaration() => {
                    let name = callee.name();
                    let waits = WAITING.iter().any(|prefix| name.starts_with(prefix));
                    needs_fibers |= waits;
                    can_loop &= !waits || function == kernel && super::loops::is_barrier(call);
                    can_loop &= name != "llvm.nvvm.exit";
                }
                Some(callee) => {
                    if reached.insert(callee) {
                        pending.push(callee);
                    }
                }
                // Nobody knows what an indirect call leads to; inline assembly may name a barrier.
                None => {
                    let assembly = call.callee().inline_assembly();
                    let waits = assembly.as_ref().is_none_or(|(template, _)| {
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
                    needs_fibers |= waits;
                    can_loop &= !waits && assembly.is_some_and(|(text, _)| !text.contains("exit"));
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
        can_loop,
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
        .map(|kernel| add_thunk(module, kernel))
        .collect()
}

fn add_thunk(module: &Module, described: &CpuKernel) -> Function {
    let kernel = described.function;
    let pointer = module.pointer(0);
    let name = format!("superstep.thunk.{}", kernel.name());
    let thunk = module.add_function(&name, module.void().function(&[pointer], false));
    module.set_linkage(thunk.value(), Linkage::LLVMInternalLinkage);
    let builder = Builder::at_end(module, thunk.append_block("entry"));
    let list = thunk.parameters()[0];
    let arguments = load_arguments(module, &builder, described, list);
    let call = builder.call(kernel.ty(), kernel.value(), &arguments);
    kernel.copy_parameter_attributes_to(call);
    builder.return_void();
    thunk
}

/// The values that `list`, a `void **`, points to; what is passed by value as its address.
pub fn load_arguments(
    module: &Module,
    builder: &Builder,
    kernel: &CpuKernel,
    list: Value,
) -> Vec<Value> {
    let pointer = module.pointer(0);
    kernel
        .function
        .parameters()
        .iter()
        .enumerate()
        .map(|(index, parameter)| {
            let slot = builder.offset(module, list, 8 * index as u64);
            let address = builder.load(pointer, slot);
            let ty = parameter.ty();
            if kernel.function.is_by_value(index as u32) {
                address
            } else if ty == module.int(1) {
                let byte = builder.load(module.int(8), address);
                builder.cast(Opcode::LLVMTrunc, byte, ty)
            } else {
                builder.load(ty, address)
            }
        })
        .collect()
}
