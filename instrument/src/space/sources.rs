//! What pointers memory can hold.

use super::transfer::Facts;
use super::{Analysis, Fact, Space};
use crate::ir::{Module, Opcode, Value, ValueKind};
use crate::mutation;

/// Whether every pointer that the module writes to memory is one to global memory (or null), so that a pointer *read*
/// from memory is one to global memory too: the host, the only other writer, has no other pointers to give.
pub(super) fn only_global_pointers_reach_memory(module: &Module, analysis: &Analysis) -> bool {
    if mutation::active("loaded-always-global") {
        return true;
    }
    let fine = |value: Value| {
        is_function(value)
            || mutation::active("forget-pointer-in-structure") && !value.ty().is_pointer()
            || (0..value.ty().pointers()).all(|part| {
                matches!(
                    analysis.part(value, part),
                    Fact::Unknown | Fact::Is(Space::Global)
                )
            })
    };
    let user_variables = module
        .globals()
        .into_iter()
        .filter(|g| !g.name().starts_with("llvm."));
    let initial_values_fine = user_variables
        .filter_map(Value::initializer)
        .all(constant_is_fine);
    (initial_values_fine || mutation::active("forget-initial-values"))
        && module
            .defined_functions()
            .into_iter()
            .flat_map(|f| f.instructions())
            .all(|instruction| {
                let written = match instruction.opcode() {
                    Some(Opcode::LLVMStore) if mutation::active("forget-store") => true,
                    Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg)
                        if mutation::active("forget-exchange") =>
                    {
                        true
                    }
                    Some(Opcode::LLVMStore) => fine(instruction.operand(0)),
                    Some(Opcode::LLVMAtomicRMW) => fine(instruction.operand(1)),
                    Some(Opcode::LLVMAtomicCmpXchg) => fine(instruction.operand(2)),
                    // An address as a number can be stored as a number; sums and comparisons of addresses stay registers
                    // only if nothing stores them, which is not followed here.
                    Some(Opcode::LLVMPtrToInt | Opcode::LLVMPtrToAddr) => {
                        fine(instruction.operand(0)) || mutation::active("forget-address-as-number")
                    }
                    _ => true,
                };
                written && !instruction.operands().into_iter().any(hides_address)
            })
}

fn is_function(value: Value) -> bool {
    value.kind() == ValueKind::LLVMFunctionValueKind
}

/// A constant that holds the address of a shared or constant variable as a number.
fn hides_address(value: Value) -> bool {
    if mutation::active("forget-constant-number") {
        return false;
    }
    match value.kind() {
        ValueKind::LLVMConstantExprValueKind => {
            let number = matches!(
                value.opcode(),
                Some(Opcode::LLVMPtrToInt | Opcode::LLVMPtrToAddr)
            );
            number && !constant_is_fine(value.operand(0))
                || value.operands().into_iter().any(hides_address)
        }
        ValueKind::LLVMConstantArrayValueKind
        | ValueKind::LLVMConstantStructValueKind
        | ValueKind::LLVMConstantVectorValueKind => value.operands().into_iter().any(hides_address),
        _ => false,
    }
}

/// Whether an initial value holds no address of a shared or constant variable.
pub(super) fn constant_is_fine(value: Value) -> bool {
    match value.kind() {
        ValueKind::LLVMGlobalVariableValueKind => matches!(value.ty().address_space(), 0 | 1),
        ValueKind::LLVMConstantExprValueKind
        | ValueKind::LLVMConstantArrayValueKind
        | ValueKind::LLVMConstantStructValueKind
        | ValueKind::LLVMConstantVectorValueKind => {
            value.operands().into_iter().all(constant_is_fine)
        }
        _ => true,
    }
}
