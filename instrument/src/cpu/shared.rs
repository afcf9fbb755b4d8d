//! Shared memory on the CPU: a CTA runs on one worker thread, so its variables are that thread's.

use super::{offset, thread_field};
use crate::ir::{Builder, Function, Linkage, Module, Opcode, Value, ValueKind};
use anyhow::{Result, bail};
use std::collections::HashMap;

/// Address space of shared memory.
const SHARED: u32 = 3;

/// Replaces shared variables by thread-local ones, and the dynamic array by the worker's buffer.
pub fn lower(module: &Module) -> Result<()> {
    let shared: Vec<Value> = module
        .globals()
        .into_iter()
        .filter(|g| g.ty().address_space() == SHARED)
        .collect();
    let replacements: HashMap<Value, Option<Value>> = shared
        .iter()
        .map(|global| {
            (
                *global,
                (!global.is_declaration()).then(|| thread_local(module, *global)),
            )
        })
        .collect();
    for function in module.defined_functions() {
        rewrite(module, function, &replacements)?;
    }
    for global in shared {
        if used(global) {
            bail!(
                "the address of the shared variable {} is part of a constant that the CPU backend cannot move",
                global.name()
            );
        }
        // Constants that nothing uses still mention it; dead-code elimination removes both.
        if !global.is_declaration() {
            module.set_linkage(global, Linkage::LLVMInternalLinkage);
        }
    }
    Ok(())
}

/// Whether code or another variable uses the value, directly or through constants.
fn used(value: Value) -> bool {
    value.users().into_iter().any(|user| match user.kind() {
        ValueKind::LLVMConstantExprValueKind
        | ValueKind::LLVMConstantStructValueKind
        | ValueKind::LLVMConstantArrayValueKind
        | ValueKind::LLVMConstantVectorValueKind => used(user),
        _ => true,
    })
}

fn thread_local(module: &Module, global: Value) -> Value {
    let ty = global.value_type();
    let replacement = module.add_global(&format!("{}.cta", global.name()), ty, 0);
    replacement.set_initializer(ty.null());
    replacement.set_alignment_bytes(global.alignment_bytes().max(16));
    module.set_linkage(replacement, Linkage::LLVMInternalLinkage);
    replacement.set_thread_local();
    replacement
}

fn rewrite(
    module: &Module,
    function: Function,
    replacements: &HashMap<Value, Option<Value>>,
) -> Result<()> {
    let mut made = HashMap::new();
    let entry = Builder::at_entry(module, function);
    for instruction in function.instructions() {
        for (index, operand) in (0..).zip(instruction.operands()) {
            if mentions(operand, replacements) {
                let value = materialise(module, &entry, operand, replacements, &mut made)?;
                instruction.set_operand(index, value);
            }
        }
    }
    Ok(())
}

fn mentions(value: Value, replacements: &HashMap<Value, Option<Value>>) -> bool {
    match value.kind() {
        ValueKind::LLVMGlobalVariableValueKind => replacements.contains_key(&value),
        ValueKind::LLVMConstantExprValueKind
        | ValueKind::LLVMConstantStructValueKind
        | ValueKind::LLVMConstantArrayValueKind
        | ValueKind::LLVMConstantVectorValueKind => value
            .operands()
            .into_iter()
            .any(|o| mentions(o, replacements)),
        _ => false,
    }
}

/// The constant `value` as instructions at the function's entry, with thread-local variables in place of shared ones.
fn materialise(
    module: &Module,
    entry: &Builder,
    value: Value,
    replacements: &HashMap<Value, Option<Value>>,
    made: &mut HashMap<Value, Value>,
) -> Result<Value> {
    if let Some(done) = made.get(&value) {
        return Ok(*done);
    }
    if !mentions(value, replacements) {
        return Ok(value);
    }
    let result = if let Some(replacement) = replacements.get(&value) {
        let address = match replacement {
            Some(variable) => {
                let intrinsic = module.intrinsic("llvm.threadlocal.address", &[module.pointer(0)]);
                entry.call(intrinsic.ty(), intrinsic.value(), &[*variable])
            }
            None => thread_field(module, entry, module.pointer(0), offset::DYNAMIC_SHARED),
        };
        entry.cast(Opcode::LLVMAddrSpaceCast, address, value.ty())
    } else {
        let operands: Vec<Value> = value
            .operands()
            .into_iter()
            .map(|operand| materialise(module, entry, operand, replacements, made))
            .collect::<Result<_>>()?;
        match value.opcode() {
            Some(Opcode::LLVMGetElementPtr) => entry.gep_like(value, &operands),
            Some(
                opcode @ (Opcode::LLVMAddrSpaceCast
                | Opcode::LLVMBitCast
                | Opcode::LLVMPtrToInt
                | Opcode::LLVMPtrToAddr
                | Opcode::LLVMIntToPtr
                | Opcode::LLVMTrunc),
            ) => entry.cast(opcode, operands[0], value.ty()),
            Some(opcode @ (Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMXor)) => {
                entry.binary(opcode, operands[0], operands[1])
            }
            _ => bail!(
                "the CPU backend cannot place the shared address in the constant {}",
                value.print()
            ),
        }
    };
    made.insert(value, result);
    Ok(result)
}
