//! Shifts by the width of the value or more: defined in PTX, undefined in LLVM IR.

use crate::ir::{Builder, Instruction, IntPredicate::*, Module, Opcode::*, Value, traits::*};

/// Gives shifts PTX's semantics: beyond the width, `shl` and unsigned `shr` give 0, and signed `shr` the sign.
pub fn bound(module: &Module) {
    module.instructions().for_each(bound_shift);
}

fn bound_shift(shift: Instruction) {
    let operation = shift.get_opcode();
    if !matches!(operation, Shl | LShr | AShr) {
        return;
    }
    let ty = shift.ty();
    let width = u64::from(ty.scalar_bits());
    let amount = shift.operand(1);
    if stays_below(amount, width) {
        return;
    }
    let builder = Builder::before(shift);
    let below = builder.compare(ULT, amount, ty.splat(width));
    if operation == AShr {
        let bounded = builder.select(below, amount, ty.splat(width - 1));
        shift.set_operand(1, bounded.basic());
    } else {
        let shifted = builder.binary(operation, shift.operand(0), amount);
        let result = builder.select(below, shifted, ty.null());
        shift.replace_uses_with(result);
        shift.erase();
    }
}

/// Whether a shift's amount is evidently less than `width`: a constant, or masked by one.
fn stays_below(amount: Value, width: u64) -> bool {
    let constant = |value: Value| value.constant_integer().is_some_and(|n| n < width);
    match amount.opcode() {
        Some(And) => constant(amount.operand(0)) || constant(amount.operand(1)),
        _ => amount.is_known(),
    }
}
