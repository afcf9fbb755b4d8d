//! Integer arithmetic whose result PTX and NVIDIA GPUs define, but LLVM IR and x86 do not: shifts by the width or more,
//! divisions by zero or with overflow, and conversions of out-of-range numbers.

use crate::ir::{
    Builder, FloatPredicate::UNO, Instruction, IntPredicate::*, Module, Opcode::*, Type, Value,
    traits::*,
};

pub fn define(module: &Module) {
    for instruction in module.instructions() {
        match instruction.get_opcode() {
            Shl | LShr | AShr => clamp_shift(instruction),
            UDiv | URem | SDiv | SRem => guard_division(instruction),
            FPToSI => saturate_cast(module, instruction, "llvm.fptosi.sat"),
            FPToUI => saturate_cast(module, instruction, "llvm.fptoui.sat"),
            _ => {}
        }
    }
}

/// Gives a shift PTX's semantics: beyond the width, `shl` and unsigned `shr` return 0, and signed `shr` returns copies
/// of the sign bit.
fn clamp_shift(shift: Instruction) {
    let (operation, ty, amount) = (shift.get_opcode(), shift.ty(), shift.operand(1));
    let width = u64::from(ty.scalar_bits());
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

/// Returns whether a shift amount is known to be less than `width`: a constant, or masked with a constant.
fn stays_below(amount: Value, width: u64) -> bool {
    let constant = |value: Value| value.constant_integer().is_some_and(|n| n < width);
    match amount.opcode() {
        Some(And) => constant(amount.operand(0)) || constant(amount.operand(1)),
        _ => amount.is_known(),
    }
}

/// Makes division by zero return all ones, and division of the smallest integer by -1 return that integer with
/// remainder 0.
fn guard_division(division: Instruction) {
    let (ty, divisor) = (division.ty(), division.operand(1));
    let bits = ty.scalar_bits();
    let all_ones = u64::MAX >> (64 - bits.min(64));
    let is_safe = |n: u64| n != 0 && n != all_ones;
    if bits > 64 || divisor.constant_integer().is_some_and(is_safe) {
        return;
    }
    let builder = Builder::before(division);
    let by_zero = builder.compare(EQ, divisor, ty.null());
    let mut faults = by_zero;
    if matches!(division.get_opcode(), SDiv | SRem) {
        let least = ty.splat(1 << (bits - 1));
        let is_least = builder.compare(EQ, division.operand(0), least);
        let by_minus_one = builder.compare(EQ, divisor, ty.splat(all_ones));
        let overflows = builder.binary(And, is_least, by_minus_one);
        faults = builder.binary(Or, by_zero, overflows);
    }
    let safe = builder.repeat(division);
    let safe_divisor = Builder::before(safe).select(faults, ty.splat(1), divisor);
    safe.set_operand(1, safe_divisor.basic());
    let result = builder.select(by_zero, ty.splat(all_ones), safe.value());
    division.replace_uses_with(result);
    division.erase();
}

/// Saturates a conversion from a floating-point number to an integer. NaN becomes 0, or the integer with only the
/// highest bit set if the source has double precision or the integer has 64 bits (PTX ISA, `cvt`).
fn saturate_cast(module: &Module, cast: Instruction, intrinsic: &str) {
    let (to, number) = (cast.ty(), cast.operand(0));
    let bits = to.scalar_bits();
    if !matches!(bits, 16 | 32 | 64) {
        return;
    }
    let saturate = module.intrinsic(intrinsic, &[to, number.ty()]);
    let builder = Builder::before(cast);
    let mut result = builder.call(saturate, &[number]).value();
    if bits == 64 || number.ty().scalar() == Type::double() {
        let is_nan = builder.compare_floats(UNO, number, number);
        result = builder.select(is_nan, to.splat(1 << (bits - 1)), result);
    }
    cast.replace_uses_with(result);
    cast.erase();
}
