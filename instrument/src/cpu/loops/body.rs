//! A kernel's code as a function of everything that tells one thread from another.

use crate::cpu::kernels::CpuKernel;
use crate::ir::{Builder, Function, Linkage, Module, Opcode, Type, Value};
use crate::probe;
use std::collections::HashMap;

/// A copy of a kernel that gets as parameters, behind the kernel's own, what [`Ids`] lists.
pub struct Body {
    /// The copy, which returns nothing.
    pub function: Function,
    /// Whether something that it calls reads the thread's coordinates from the thread block.
    pub needs_thread_block: bool,
    /// Whether it only computes, loads and stores: such a CTA can be run again without harm, to find the thread that faulted.
    pub is_repeatable: bool,
}

/// What a body gets besides the kernel's parameters.
#[derive(Clone, Copy)]
pub struct Ids {
    /// The CTA's frame.
    pub frame: Value,
    /// Number of the thread in its CTA.
    pub thread: Value,
    /// `threadIdx`.
    pub tid: [Value; 3],
    /// `blockDim`.
    pub ntid: [Value; 3],
    /// `blockIdx`.
    pub ctaid: [Value; 3],
    /// `gridDim`.
    pub nctaid: [Value; 3],
}

impl Ids {
    /// Their number.
    const COUNT: usize = 14;

    /// Their types.
    fn types(module: &Module) -> Vec<Type> {
        let mut types = vec![module.int(32); Self::COUNT];
        types[0] = module.pointer(0);
        types
    }

    /// All of them, in the order of the parameters.
    pub fn values(&self) -> Vec<Value> {
        let groups = [self.tid, self.ntid, self.ctaid, self.nctaid];
        [self.frame, self.thread]
            .into_iter()
            .chain(groups.into_iter().flatten())
            .collect()
    }

    /// The last parameters of a body, or of a region of it.
    pub fn of(function: Function) -> Self {
        let parameters = function.parameters();
        let own = &parameters[parameters.len() - Self::COUNT..];
        let three = |first: usize| [own[first], own[first + 1], own[first + 2]];
        Ids {
            frame: own[0],
            thread: own[1],
            tid: three(2),
            ntid: three(5),
            ctaid: three(8),
            nctaid: three(11),
        }
    }
}

/// Makes the body of a kernel.
pub fn make(module: &Module, kernel: &CpuKernel) -> Body {
    let mut types = kernel.function.ty().parameters();
    types.extend(Ids::types(module));
    let name = format!("superstep.body.{}", kernel.name);
    let function = module.add_function(&name, module.void().function(&types, false));
    module.set_linkage(function.value(), Linkage::LLVMInternalLinkage);
    function.add_attribute("nounwind");
    let mut values: HashMap<Value, Value> = kernel
        .function
        .parameters()
        .into_iter()
        .zip(function.parameters())
        .collect();
    function.append_copies(module, &kernel.function.blocks(), &mut values, &|_| false);
    copy_written_parameters(module, kernel, function);
    let ids = Ids::of(function);
    replace_special_registers(module, function, &ids);
    Body {
        function,
        needs_thread_block: needs_thread_block(function),
        is_repeatable: function.instructions().into_iter().all(is_repeatable),
    }
}

/// Each thread owns the parameters that it gets by value; only what is written to needs to be copied.
fn copy_written_parameters(module: &Module, kernel: &CpuKernel, function: Function) {
    for (index, parameter) in (0..).zip(function.parameters()) {
        if (index as usize) < kernel.function.parameters().len()
            && let Some(ty) = kernel.function.by_value_type(index)
            && !is_only_read(parameter)
        {
            let users = parameter.users();
            let builder = Builder::at_entry(module, function);
            let own = builder.alloca(ty);
            let alignment_bytes = 16;
            own.set_alignment_bytes(alignment_bytes);
            for user in users {
                for (operand, value) in (0..).zip(user.operands()) {
                    if value == parameter {
                        user.set_operand(operand, own);
                    }
                }
            }
            builder.copy(module, own, parameter, module.allocated_size_bytes(ty), 1);
        }
    }
}

/// Whether nothing can write to what a pointer points to through it.
fn is_only_read(pointer: Value) -> bool {
    pointer.users().into_iter().all(|user| match user.opcode() {
        Some(Opcode::LLVMLoad | Opcode::LLVMICmp) => true,
        Some(Opcode::LLVMGetElementPtr | Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast) => {
            is_only_read(user)
        }
        Some(Opcode::LLVMCall) => user.callee().as_function().is_some_and(|callee| {
            let name = callee.name();
            let copies_from = name.starts_with("llvm.memcpy.") && user.operand(0) != pointer;
            copies_from || is_probe(&name)
        }),
        _ => false,
    })
}

fn is_probe(name: &str) -> bool {
    [probe::HANDLER, probe::TESTED].contains(&name)
}

fn replace_special_registers(module: &Module, function: Function, ids: &Ids) {
    let i32t = module.int(32);
    for call in function.instructions() {
        let Some(name) = called(call) else { continue };
        let Some(register) = name.strip_prefix("llvm.nvvm.read.ptx.sreg.") else {
            continue;
        };
        let value = match register.split_once('.') {
            None if register == "warpsize" => i32t.constant(32),
            None if register == "laneid" => {
                Builder::before(module, call).binary(Opcode::LLVMAnd, ids.thread, i32t.constant(31))
            }
            Some((base, dimension)) => {
                let values = match base {
                    "tid" => ids.tid,
                    "ntid" => ids.ntid,
                    "ctaid" => ids.ctaid,
                    "nctaid" => ids.nctaid,
                    _ => continue,
                };
                match ["x", "y", "z"].iter().position(|d| *d == dimension) {
                    Some(index) => values[index],
                    None => continue,
                }
            }
            None => continue,
        };
        call.replace_all_uses_with(value);
        call.erase();
    }
}

fn called(instruction: Value) -> Option<String> {
    if instruction.opcode() != Some(Opcode::LLVMCall) {
        return None;
    }
    instruction.callee().as_function().map(Function::name)
}

/// Device functions, other special registers and inline PTX read the thread block.
fn needs_thread_block(function: Function) -> bool {
    function.instructions().into_iter().any(|instruction| {
        instruction.opcode() == Some(Opcode::LLVMCall)
            && match instruction.callee().as_function() {
                Some(callee) => {
                    let name = callee.name();
                    name.starts_with("llvm.nvvm.read.ptx.sreg.")
                        || !callee.is_declaration() && !is_probe(&name)
                }
                None => true,
            }
    })
}

/// Whether an instruction neither waits nor tells anybody: no atomic operation, nothing volatile, no call of a function.
fn is_repeatable(instruction: Value) -> bool {
    match instruction.opcode() {
        Some(
            Opcode::LLVMAtomicRMW
            | Opcode::LLVMAtomicCmpXchg
            | Opcode::LLVMFence
            | Opcode::LLVMInvoke
            | Opcode::LLVMCallBr,
        ) => false,
        Some(Opcode::LLVMLoad | Opcode::LLVMStore) => !instruction.is_volatile(),
        Some(Opcode::LLVMCall) => called(instruction).is_some_and(|name| {
            let tells = [".atomic.", ".membar", ".fence", "trap"];
            name.starts_with("llvm.") && !tells.iter().any(|part| name.contains(part))
        }),
        _ => true,
    }
}
