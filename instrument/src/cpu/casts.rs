//! Conversions to integers that overflow: undefined in LLVM IR, defined by PTX's `cvt`.

use crate::ir::{Builder, FloatPredicate::UNO, Instruction, Module, Opcode::*, Type, traits::*};

/// Saturates a conversion from a floating-point number to an integer, as a GPU does. NaN becomes 0, or the integer's highest bit if the
/// source has double precision or the integer 64 bits (PTX ISA, `cvt`).
pub fn bound(module: &Module) {
    for instruction in module.instructions() {
        bound_cast(module, instruction);
    }
}

fn bound_cast(module: &Module, cast: Instruction) {
    let operation = cast.get_opcode();
    if !matches!(operation, FPToSI | FPToUI) {
        return;
    }
    let (to, number) = (cast.ty(), cast.operand(0));
    let bits = to.scalar_bits();
    if !matches!(bits, 16 | 32 | 64) {
        return;
    }
    let name = match operation {
        FPToSI => "llvm.fptosi.sat",
        _ => "llvm.fptoui.sat",
    };
    let saturate = module.intrinsic(name, &[to, number.ty()]);
    let builder = Builder::before(cast);
    let mut result = builder.call(saturate, &[number]).value();
    if bits == 64 || number.ty().scalar() == Type::double() {
        let is_none = builder.compare_floats(UNO, number, number);
        result = builder.select(is_none, to.splat(1 << (bits - 1)), result);
    }
    cast.replace_uses_with(result);
    cast.erase();
}
