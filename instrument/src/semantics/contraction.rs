//! Fuses multiplications and additions, identically in all builds.
//!
//! CUDA allows a compiler to fuse `a * b + c` into one operation with one rounding. Code generation fuses within a
//! block, so a probe between the two operations could prevent fusion and change the program's results. Therefore, every
//! permitted pair is fused here, in native and traced builds, and the permission is removed from all other operations,
//! so that all builds compute the same bits.

use crate::ir::{Builder, Instruction, Module, Opcode::*, Value, traits::*};

pub fn fuse(module: &Module) {
    for function in module.defined_functions() {
        let instructions = function.instructions().into_iter();
        let fused: Vec<Instruction> = instructions.filter_map(|i| fuse_one(module, i)).collect();
        // Multiplications are erased in a separate loop because they may come after their sums in the layout.
        fused.into_iter().for_each(|product| product.erase());
        function.instructions().into_iter().for_each(forbid);
    }
}

/// Fuses an addition or subtraction with an operand that is a multiplication without other uses. Returns the
/// multiplication, which is now unused.
fn fuse_one<'m>(module: &'m Module, sum: Instruction<'m>) -> Option<Instruction<'m>> {
    let subtraction = match sum.get_opcode() {
        FAdd => false,
        FSub => true,
        _ => return None,
    };
    if !sum.allows_contraction() {
        return None;
    }
    let product = |value: Value<'m>| {
        value
            .as_instruction()
            .filter(|i| i.get_opcode() == FMul && i.allows_contraction() && i.users().len() == 1)
    };
    let (left, right) = (sum.operand(0), sum.operand(1));
    let builder = Builder::before(sum);
    let negated_if_subtraction = |value| match subtraction {
        true => builder.negate(value),
        false => value,
    };
    let (multiplication, factors) = if let Some(product) = product(left) {
        let addend = negated_if_subtraction(right);
        (product, [product.operand(0), product.operand(1), addend])
    } else {
        let product = product(right)?;
        let factor = negated_if_subtraction(product.operand(0));
        (product, [factor, product.operand(1), left])
    };
    let fma = module.intrinsic("llvm.fma", &[sum.ty()]);
    sum.replace_with(builder.call(fma, &factors).value());
    Some(multiplication)
}

/// Rebuilds the operation without the permission to fuse it (LLVM's C API can set the flag, but not clear it).
fn forbid(instruction: Instruction) {
    let operation = instruction.get_opcode();
    if matches!(operation, FAdd | FSub | FMul) && instruction.allows_contraction() {
        let (left, right) = (instruction.operand(0), instruction.operand(1));
        let rebuilt = Builder::before(instruction).binary(operation, left, right);
        instruction.copy_fast_math_except_contraction(rebuilt);
        instruction.replace_with(rebuilt);
    }
}
