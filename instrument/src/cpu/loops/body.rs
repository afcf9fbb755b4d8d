//! A kernel's code as a function of the thread's coordinates.

use crate::cpu::alignment::ALIGNED;
use crate::cpu::intrinsics::Register;
use crate::cpu::kernels::CpuKernel;
use crate::ir::{
    Builder, Call, Function, Instruction, Module, Opcode::*, Type, Value, append_copies, traits::*,
};
use crate::space::only_read;
use crate::{probe, ptx};
use std::collections::HashMap;

/// Copy of a kernel with the parameters in [`Ids`] appended. It returns nothing.
pub struct Body {
    pub name: String,
    /// Whether a callee reads the thread's coordinates from the thread state.
    pub needs_thread_block: bool,
    /// Whether the body only computes, loads and stores, so that a CTA can be rerun to find the thread that faulted.
    pub is_repeatable: bool,
}

/// Additional parameters of a body.
#[derive(Clone, Copy)]
pub struct Ids<'m> {
    pub frame: Value<'m>,
    pub thread: Value<'m>,
    /// `tid`, `ntid`, `ctaid` and `nctaid`, in the order of [`Register::Coordinate`].
    pub groups: [[Value<'m>; 3]; 4],
}

impl<'m> Ids<'m> {
    const COUNT: usize = 14;

    pub fn values(&self) -> Vec<Value<'m>> {
        [&[self.frame, self.thread], self.groups.as_flattened()].concat()
    }

    /// Returns the last parameters of a body or of one of its regions.
    pub fn of(function: Function<'m>) -> Self {
        let parameters = function.parameters();
        let ids = &parameters[parameters.len() - Self::COUNT..];
        let group = |first: usize| [ids[first], ids[first + 1], ids[first + 2]];
        Ids {
            frame: ids[0],
            thread: ids[1],
            groups: [2, 5, 8, 11].map(group),
        }
    }
}

pub fn make<'m>(module: &'m Module, described: &CpuKernel) -> (Body, Function<'m>) {
    let kernel = described.function(module);
    let mut ids = [Type::int(32); Ids::COUNT];
    ids[0] = Type::pointer(0);
    let signature = Type::void()
        .function(&kernel.signature().parameters())
        .with_parameters(&ids);
    let name = format!("superstep.body.{}", described.name);
    let function = module.add_function(&name, signature);
    function.make_internal();
    function.set_attribute("nounwind");
    let parameters = kernel.parameters().into_iter();
    let mut values: HashMap<Value, Value> = parameters.zip(function.parameters()).collect();
    let blocks = kernel.get_basic_blocks();
    append_copies(function, &blocks, &mut values, &|_| false);
    copy_written_parameters(module, kernel, function);
    replace_special_registers(function);
    let body = Body {
        name,
        needs_thread_block: function.calls().any(needs_thread_block),
        is_repeatable: function.instructions().into_iter().all(is_repeatable),
    };
    (body, function)
}

fn copy_written_parameters<'m>(module: &Module, kernel: Function, function: Function<'m>) {
    for (index, parameter) in (0..).zip(function.parameters()) {
        if let Some(ty) = kernel.by_value_type(index)
            && !only_read(parameter, &|call| is_probe(&call.function_name()))
        {
            let users = parameter.using_instructions();
            let builder = Builder::at_entry(function);
            let copy = builder.alloca(ty);
            copy.set_alignment_bytes(16);
            for user in users {
                user.replace_operand(parameter, copy.value());
            }
            builder.copy(copy.value(), parameter, module.allocated_size_bytes(ty));
        }
    }
}

fn is_probe(name: &str) -> bool {
    [probe::HANDLER, probe::TESTED].contains(&name)
}

fn replace_special_registers(function: Function) {
    let ids = Ids::of(function);
    for call in function.calls() {
        let value = match Register::of(call) {
            None => continue,
            Some(Register::WarpSize) => Type::int(32).constant(32),
            Some(Register::Lane) => {
                let builder = Builder::before(call);
                builder.binary(And, ids.thread, Type::int(32).constant(31))
            }
            Some(Register::Coordinate(group, dimension)) => ids.groups[group][dimension],
        };
        call.replace_uses_with(value);
        call.erase();
    }
}

fn is_plain_ptx(call: Call) -> bool {
    let assembly = call.callee().inline_assembly();
    assembly.is_some_and(|(template, _)| ptx::only_computes(&template))
}

/// Returns whether a call reads the thread state, as do calls to device functions, reads of other special registers,
/// and most inline PTX.
fn needs_thread_block(call: Call) -> bool {
    let Some(callee) = call.get_called_fn_value() else {
        return !is_plain_ptx(call);
    };
    let name = callee.name();
    name.starts_with("llvm.nvvm.read.ptx.sreg.") || !callee.is_declaration() && !is_probe(&name)
}

/// Returns whether an instruction can be repeated: it is not an atomic or volatile access, nor a function call.
fn is_repeatable(instruction: Instruction) -> bool {
    match instruction.get_opcode() {
        AtomicRMW | AtomicCmpXchg | Fence | Invoke | CallBr => false,
        Load | Store => !instruction.is_volatile(),
        _ => instruction.as_call().is_none_or(|call| {
            let name = call.function_name();
            let effects = [".atomic.", ".membar", ".fence", "trap"];
            let is_pure =
                name.starts_with("llvm.") && !effects.iter().any(|part| name.contains(part));
            is_pure || name == ALIGNED || is_plain_ptx(call)
        }),
    }
}
