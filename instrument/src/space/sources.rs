//! What pointers memory can hold.

use super::transfer::Facts;
use super::{Analysis, Fact, Space};
use crate::ir::{Instruction, Module, Opcode::*, Value, ValueKind, traits::*};

/// Whether every pointer that the module writes to memory is one to global memory (or null), so that a pointer *read*
/// from memory is one to global memory too: the host, the only other writer, has no other pointers to give.
pub(super) fn only_global_pointers_reach_memory<'m>(
    module: &'m Module,
    analysis: &Analysis<'m>,
) -> bool {
    let fine = |value: Value<'m>| {
        value.kind() == ValueKind::LLVMFunctionValueKind
            || (0..value.ty().pointers()).all(|part| {
                matches!(
                    analysis.part(value, part),
                    Fact::Unknown | Fact::Is(Space::Global)
                )
            })
    };
    let fine_instruction = |instruction: Instruction<'m>| {
        let written = match instruction.get_opcode() {
            Store => fine(instruction.operand(0)),
            AtomicRMW => fine(instruction.operand(1)),
            AtomicCmpXchg => fine(instruction.operand(2)),
            // An address as a number can be stored as a number; sums and comparisons of addresses stay registers
            // only if nothing stores them, which is not followed here.
            PtrToInt | PtrToAddr => fine(instruction.operand(0)),
            _ => true,
        };
        written && !instruction.operands().into_iter().any(hides_address)
    };
    let variables = module.variables().into_iter();
    variables
        .filter(|v| !v.name().starts_with("llvm."))
        .filter_map(|v| v.initial_value())
        .all(constant_is_fine)
        && module.instructions().all(fine_instruction)
}

/// A constant that holds the address of a shared or constant variable as a number.
fn hides_address(value: Value) -> bool {
    let number =
        value.is_compound_constant() && matches!(value.opcode(), Some(PtrToInt | PtrToAddr));
    number && !constant_is_fine(value.operand(0))
        || value.constant_parts().into_iter().any(hides_address)
}

/// Whether an initial value holds no address of a shared or constant variable.
pub(super) fn constant_is_fine(value: Value) -> bool {
    if value.kind() == ValueKind::LLVMGlobalVariableValueKind {
        return matches!(value.ty().address_space(), 0 | 1);
    }
    value.constant_parts().into_iter().all(constant_is_fine)
}
