//! NVPTX intrinsics on the CPU: special registers become fields of the thread block, the rest calls of the support library.

use super::{assembly, offset, thread_field};
use crate::ir::{Builder, Function, Module, Opcode, Value};
use anyhow::Result;
use std::collections::HashMap;

/// The support library defines `llvm.nvvm.a.b` as this prefix and `a_b`.
pub const PREFIX: &str = "__superstep_nvvm_";

/// The same for single PTX instructions that headers write as inline assembly.
pub const PTX_PREFIX: &str = "__superstep_ptx_";

/// Replaces every intrinsic and every piece of inline PTX that only a GPU has.
pub fn lower(module: &Module) -> Result<()> {
    for function in module.defined_functions() {
        let mut registers = HashMap::new();
        for call in function
            .instructions()
            .into_iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        {
            if let Some((template, _)) = call.callee().inline_assembly() {
                assembly::lower(module, call, &template)?;
            } else if let Some(callee) = call.callee().as_function() {
                let name = callee.name();
                if let Some(register) = name.strip_prefix("llvm.nvvm.read.ptx.sreg.")
                    && let Some(value) =
                        special_register(module, function, register, &mut registers)
                {
                    call.replace_all_uses_with(value);
                    call.erase();
                } else if let Some(rest) = name.strip_prefix("llvm.nvvm.") {
                    replace(module, call, &format!("{PREFIX}{}", rest.replace('.', "_")));
                } else if matches!(
                    name.as_str(),
                    "llvm.trap" | "llvm.debugtrap" | "llvm.ubsantrap"
                ) {
                    let trap =
                        module.declare("__superstep_trap", module.void().function(&[], false));
                    Builder::before(module, call).call(trap.ty(), trap.value(), &[]);
                    call.erase();
                }
            }
        }
    }
    Ok(())
}

/// A register that the thread block holds, loaded once at the function's entry: it never changes for a thread.
fn special_register(
    module: &Module,
    function: Function,
    register: &str,
    loaded: &mut HashMap<u64, Value>,
) -> Option<Value> {
    let i32t = module.int(32);
    let offset_bytes = match register {
        "warpsize" => return Some(i32t.constant(32)),
        "laneid" => offset::LANE,
        _ => {
            let (base, dimension) = register.split_once('.')?;
            let base = match base {
                "tid" => offset::TID,
                "ntid" => offset::NTID,
                "ctaid" => offset::CTAID,
                "nctaid" => offset::NCTAID,
                _ => return None,
            };
            base + 4 * ["x", "y", "z"].iter().position(|d| *d == dimension)? as u64
        }
    };
    let load = || {
        thread_field(
            module,
            &Builder::at_entry(module, function),
            i32t,
            offset_bytes,
        )
    };
    Some(*loaded.entry(offset_bytes).or_insert_with(load))
}

/// Calls `name` instead. A result made of several members comes back through a pointer, as C functions return it.
pub fn replace(module: &Module, call: Value, name: &str) {
    let builder = Builder::before(module, call);
    let mut arguments = call.arguments();
    // An intrinsic's trailing metadata (rounding mode, for instance) is no value that a function can take.
    arguments.retain(|a| !a.print().starts_with("metadata"));
    let ty = call.ty();
    let mut types: Vec<_> = arguments.iter().map(|a| a.ty()).collect();
    if ty.is_struct() {
        let slot = Builder::at_entry(module, call.parent_function()).alloca(ty);
        arguments.insert(0, slot);
        types.insert(0, slot.ty());
        let function = module.declare(name, module.void().function(&types, false));
        builder.call(function.ty(), function.value(), &arguments);
        call.replace_all_uses_with(builder.load(ty, slot));
    } else {
        let function = module.declare(name, ty.function(&types, false));
        let result = builder.call(function.ty(), function.value(), &arguments);
        if !ty.is_void() {
            call.replace_all_uses_with(result);
        }
    }
    call.erase();
}

/// Makes calls of the support library pass small integers as its functions expect them.
pub fn match_parameter_passing(module: &Module) {
    for function in module
        .defined_functions()
        .into_iter()
        .filter(|f| f.name().starts_with(PREFIX) || f.name().starts_with(PTX_PREFIX))
    {
        for call in function
            .value()
            .users()
            .into_iter()
            .filter(|u| u.opcode() == Some(Opcode::LLVMCall))
        {
            if call.callee() == function.value() {
                function.copy_parameter_attributes_to(call);
            }
        }
    }
}
