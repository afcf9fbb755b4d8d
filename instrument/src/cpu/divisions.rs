//! Integer divisions that a GPU lets pass and x86 answers with a signal: by zero, and of the least number by -1.

use crate::ir::{Builder, Instruction, Module, Opcode::*};
use llvm_sys::LLVMIntPredicate::*;

/// Gives every division and remainder what the code for an NVIDIA GPU computes: all bits set when the divisor is 0; the least number, and
/// remainder 0, when that is divided by -1. Divisors that are constants other than 0 and -1 stay as they are.
pub fn bound(module: &Module) {
    let functions = module.defined_functions().into_iter();
    functions
        .flat_map(|f| f.instructions())
        .for_each(bound_division);
}

fn bound_division(division: Instruction) {
    let operation = division.operation();
    if !matches!(operation, LLVMUDiv | LLVMURem | LLVMSDiv | LLVMSRem) {
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
    let by_zero = builder.compare(LLVMIntEQ, divisor, ty.null());
    let mut faults = by_zero;
    if matches!(operation, LLVMSDiv | LLVMSRem) {
        let least = ty.splat(1 << (ty.scalar_bits() - 1));
        let of_least = builder.compare(LLVMIntEQ, division.operand(0), least);
        let by_minus_one = builder.compare(LLVMIntEQ, divisor, ty.splat(all_ones));
        let overflows = builder.binary(LLVMAnd, of_least, by_minus_one);
        faults = builder.binary(LLVMOr, by_zero, overflows);
    }
    let safe = builder.repeat(division);
    let one = Builder::before(safe).select(faults, ty.splat(1), divisor);
    safe.set_operand(1, one);
    let result = builder.select(by_zero, ty.splat(all_ones), safe.value());
    division.replace_all_uses_with(result);
    division.erase();
}
