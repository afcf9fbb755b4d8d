//! Lowers NVPTX intrinsics for the CPU: reads of special registers become loads from the thread state; other intrinsics
//! become calls to the support library.

use super::{COORDINATES, matrices, ptx, thread_field};
use crate::ir::{Builder, Call, Function, Module, Type, Value, traits::*};
use anyhow::Result;
use std::collections::HashMap;
use std::mem::offset_of;
use superstep_abi::cpu::SuperstepThread;

/// Prefix of support-library functions: `a_b` implements `llvm.nvvm.a.b`.
pub const PREFIX: &str = "__superstep_nvvm_";

/// Prefix of support-library functions that implement PTX instructions in inline assembly.
pub const PTX_PREFIX: &str = "__superstep_ptx_";

pub fn lower(module: &Module) -> Result<()> {
    for function in module.defined_functions() {
        let mut registers = HashMap::new();
        for call in function.calls() {
            if let Some((template, constraints)) = call.callee().inline_assembly() {
                ptx::lower(module, call, &template, &constraints)?;
            } else if let Some(callee) = call.get_called_fn_value() {
                let name = callee.name();
                if let Some(register) = Register::of(call) {
                    let load = || register.load(module, function);
                    let value = *registers.entry(register).or_insert_with(load);
                    call.replace_uses_with(value);
                    call.erase();
                } else if let Some(operation) = crate::matrix::parse_intrinsic(&name) {
                    matrices::lower(module, call, operation);
                } else if let Some(rest) = name.strip_prefix("llvm.nvvm.") {
                    replace(module, call, &format!("{PREFIX}{}", rest.replace('.', "_")));
                } else if ["llvm.trap", "llvm.debugtrap", "llvm.ubsantrap"].contains(&&*name) {
                    let builder = Builder::before(call);
                    builder.call_named(module, "__superstep_trap", Type::void(), &[]);
                    call.erase();
                }
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    WarpSize,
    Lane,
    /// Indices of the group (`tid`, `ntid`, `ctaid` or `nctaid`) and the dimension.
    Coordinate(usize, usize),
}

impl Register {
    pub fn of(call: Call) -> Option<Self> {
        let name = call.function_name();
        let register = name.strip_prefix("llvm.nvvm.read.ptx.sreg.")?;
        let position = |names: &[&str], name| names.iter().position(|known| *known == name);
        Some(match (register, register.split_once('.')) {
            ("warpsize", _) => Self::WarpSize,
            ("laneid", _) => Self::Lane,
            (_, dotted) => {
                let (base, dimension) = dotted?;
                let group = position(&["tid", "ntid", "ctaid", "nctaid"], base)?;
                Self::Coordinate(group, position(&["x", "y", "z"], dimension)?)
            }
        })
    }

    /// Loads the value from the thread state, at the function's entry.
    fn load<'m>(self, module: &'m Module, function: Function<'m>) -> Value<'m> {
        let i32t = Type::int(32);
        let offset_bytes = match self {
            Self::WarpSize => return i32t.constant(32),
            Self::Lane => offset_of!(SuperstepThread, lane),
            Self::Coordinate(group, dimension) => COORDINATES[group] + 4 * dimension,
        };
        thread_field(module, &Builder::at_entry(function), i32t, offset_bytes)
    }
}

/// Replaces the call with one to `name`. A struct is returned through a pointer, as in C.
pub fn replace<'m>(module: &'m Module, call: Call<'m>, name: &str) {
    let builder = Builder::before(call);
    // An intrinsic's trailing metadata (such as the rounding mode) is not a value.
    let mut arguments = call.arguments();
    let ty = call.ty();
    let slot =
        (ty.is_struct_type()).then(|| Builder::at_entry(call.parent_function()).alloca(ty).value());
    arguments.splice(0..0, slot);
    let result = if slot.is_some() { Type::void() } else { ty };
    let new_call = builder.call_named(module, name, result, &arguments);
    new_call.add_sites(&call.sites());
    if let Some(slot) = slot {
        call.replace_uses_with(builder.load(ty, slot));
    } else if !ty.is_void_type() {
        call.replace_uses_with(new_call.value());
    }
    call.erase();
}

/// Makes calls to the support library pass small integers in the way that its functions expect.
pub fn match_parameter_passing(module: &Module) {
    for function in module.defined_functions() {
        let name = function.name();
        if name.starts_with(PREFIX) || name.starts_with(PTX_PREFIX) {
            function.callers().for_each(|call| call.pass_as(function));
        }
    }
}
