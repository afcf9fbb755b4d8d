//! Shared memory on the CPU. A CTA runs on one worker thread, so shared variables become thread-local.

use super::thread_field;
use crate::ir::{Builder, Function, Module, Opcode::*, Type, Value, Variable, space, traits::*};
use crate::semantics::wraps;
use anyhow::{Result, bail};
use std::collections::HashMap;
use std::mem::offset_of;
use superstep_abi::cpu::SuperstepThread;

type Replacements<'m> = HashMap<Value<'m>, Option<Variable<'m>>>;

pub fn lower(module: &Module) -> Result<()> {
    let mut shared = module.variables();
    shared.retain(|v| v.ty().address_space() == space::SHARED);
    let replacements: Replacements = (shared.iter())
        .map(|v| {
            let replacement = (!v.is_declaration()).then(|| thread_local(module, *v));
            (v.value(), replacement)
        })
        .collect();
    for function in module.defined_functions() {
        rewrite(module, function, &replacements)?;
    }
    for global in shared {
        if is_used(global.value()) {
            bail!(
                "the address of the shared variable {} is part of a constant that the CPU backend cannot rewrite",
                global.name()
            );
        }
        // Unused constants still use `global`; dead-code elimination removes both.
        if !global.is_declaration() {
            global.make_internal();
        }
    }
    Ok(())
}

/// Returns whether code or another variable uses a value, directly or through constants.
fn is_used(value: Value) -> bool {
    let mut users = value.users().into_iter();
    users.any(|user| !user.is_compound_constant() || is_used(user))
}

fn thread_local<'m>(module: &'m Module, variable: Variable<'m>) -> Variable<'m> {
    let ty = variable.value_type();
    let replacement = module.add_variable(&format!("{}.cta", variable.name()), ty);
    replacement.set_initial_value(ty.null());
    replacement.set_alignment(variable.get_alignment().max(16));
    replacement.make_internal();
    replacement.set_thread_local(true);
    replacement
}

fn rewrite<'m>(
    module: &'m Module,
    function: Function<'m>,
    replacements: &Replacements<'m>,
) -> Result<()> {
    let mut rebuilt = HashMap::new();
    let entry = Builder::at_entry(function);
    for instruction in function.instructions() {
        for (index, operand) in instruction.indexed_operands() {
            if mentions(operand, replacements) {
                let value = materialise(module, &entry, operand, replacements, &mut rebuilt)?;
                instruction.set_operand(index, value.basic());
            }
        }
    }
    Ok(())
}

fn mentions<'m>(value: Value<'m>, replacements: &Replacements<'m>) -> bool {
    let mut parts = value.constant_parts().into_iter();
    replacements.contains_key(&value) || parts.any(|part| mentions(part, replacements))
}

/// Rebuilds the constant `value` at the function's entry, with thread-local variables in place of shared variables.
fn materialise<'m>(
    module: &'m Module,
    entry: &Builder<'m>,
    value: Value<'m>,
    replacements: &Replacements<'m>,
    rebuilt: &mut HashMap<Value<'m>, Value<'m>>,
) -> Result<Value<'m>> {
    if let Some(result) = rebuilt.get(&value) {
        return Ok(*result);
    }
    if !mentions(value, replacements) {
        return Ok(value);
    }
    let result = if let Some(replacement) = replacements.get(&value) {
        let address = match replacement {
            Some(variable) => {
                let address = module.intrinsic("llvm.threadlocal.address", &[Type::pointer(0)]);
                entry.call(address, &[variable.value()]).value()
            }
            None => {
                let field = offset_of!(SuperstepThread, dynamic_shared);
                thread_field(module, entry, Type::pointer(0), field)
            }
        };
        entry.cast(AddrSpaceCast, address, value.ty())
    } else {
        let operands: Vec<Value> = (value.operands().into_iter())
            .map(|operand| materialise(module, entry, operand, replacements, rebuilt))
            .collect::<Result<_>>()?;
        match value.opcode() {
            Some(GetElementPtr) => {
                let address = entry.gep_like(value, &operands);
                if let Some(instruction) = address.as_instruction() {
                    wraps::sign_extend_in(instruction);
                }
                address
            }
            Some(opcode @ (AddrSpaceCast | BitCast | PtrToInt | PtrToAddr | IntToPtr | Trunc)) => {
                entry.cast(opcode, operands[0], value.ty())
            }
            Some(opcode @ (Add | Sub | Xor)) => entry.binary(opcode, operands[0], operands[1]),
            _ => bail!(
                "the CPU backend does not support the constant {}, which contains the address of a shared variable",
                value.print()
            ),
        }
    };
    rebuilt.insert(value, result);
    Ok(result)
}
