//! Integer divisions that a GPU defines and that raise a signal on x86: by zero, and of the least number by -1.

use crate::ir::{Builder, Instruction, IntPredicate::*, Module, Opcode::*, traits::*};

/// Makes division by zero set all bits, and division of the least number by -1 give that number and remainder 0, as on NVIDIA GPUs.
/// Divisions by constants other than 0 and -1 do not change.
pub fn bound(module: &Module) {
    module.instructions().for_each(bound_division);
}

fn bound_division(division: Instruction) {
    let operation = division.get_opcode();
    if !matches!(operation, UDiv | URem | SDiv | SRem) {
        return;
    }
    let (ty, divisor) = (division.ty(), division.operand(1));
    let all_ones = u64::MAX >> (64 - ty.scalar_bits().min(64));
    if divisor
        .constant_integer()
        .is_some_and(|n| n != 0 && n != all_ones)
        || ty.scalar_bits() > 64
    {
        return;
    }
    let builder = Builder::before(division);
    let by_zero = builder.compare(EQ, divisor, ty.null());
    let mut faults = by_zero;
    if matches!(operation, SDiv | SRem) {
        let least = ty.splat(1 << (ty.scalar_bits() - 1));
        let of_least = builder.compare(EQ, division.operand(0), least);
        let by_minus_one = builder.compare(EQ, divisor, ty.splat(all_ones));
        let overflows = builder.binary(And, of_least, by_minus_one);
        faults = builder.binary(Or, by_zero, overflows);
    }
    let safe = builder.repeat(division);
    let one = Builder::before(safe).select(faults, ty.splat(1), divisor);
    safe.set_operand(1, one.basic());
    let result = builder.select(by_zero, ty.splat(all_ones), safe.value());
    division.replace_uses_with(result);
    division.erase();
}
