//! Determines which pointers memory can contain.

use super::transfer::Facts;
use super::{Analysis, Fact, Space};
use crate::ir::{Instruction, Module, Opcode::*, Value, ValueKind, traits::*};

/// Returns whether every pointer that the module writes to memory points to global memory (or is null), so that a
/// pointer *read* from memory does too: the host, the only other writer, has no other pointers.
pub(super) fn only_global_pointers_reach_memory<'m>(
    module: &'m Module,
    analysis: &Analysis<'m>,
) -> bool {
    let allowed = [Fact::Unknown, Fact::Is(Space::Global)];
    let is_allowed = |value: Value<'m>| {
        value.kind() == ValueKind::LLVMFunctionValueKind
            || (0..value.ty().pointers()).all(|part| allowed.contains(&analysis.part(value, part)))
    };
    let stores_only_allowed = |instruction: Instruction<'m>| {
        let operand_is_allowed = match instruction.get_opcode() {
            Store => is_allowed(instruction.operand(0)),
            AtomicRMW => is_allowed(instruction.operand(1)),
            AtomicCmpXchg => is_allowed(instruction.operand(2)),
            // The address may be stored as an integer, which is not tracked here.
            PtrToInt | PtrToAddr => is_allowed(instruction.operand(0)),
            _ => true,
        };
        operand_is_allowed && !instruction.operands().into_iter().any(hides_address)
    };
    let variables = module.variables().into_iter();
    variables
        .filter(|v| !v.name().starts_with("llvm."))
        .filter_map(|v| v.initial_value())
        .all(has_only_global_addresses)
        && module.instructions().all(stores_only_allowed)
}

/// Returns whether a constant contains the address of a shared or constant variable as an integer.
fn hides_address(value: Value) -> bool {
    let number =
        value.is_compound_constant() && matches!(value.opcode(), Some(PtrToInt | PtrToAddr));
    number && !has_only_global_addresses(value.operand(0))
        || value.constant_parts().into_iter().any(hides_address)
}

/// Returns whether an initial value contains no address of a shared or constant variable.
pub(super) fn has_only_global_addresses(value: Value) -> bool {
    if value.kind() == ValueKind::LLVMGlobalVariableValueKind {
        return matches!(value.ty().address_space(), 0 | 1);
    }
    value
        .constant_parts()
        .into_iter()
        .all(has_only_global_addresses)
}
