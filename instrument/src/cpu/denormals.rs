//! Flushes single-precision denormals, like nvcc's `-ftz=true`. x86's flush mode would affect doubles too, so the
//! operands and result of each operation are flushed explicitly, as GPU instructions flush theirs.

use crate::ir::Opcode::{self, *};
use crate::ir::{Builder, Instruction, IntPredicate::EQ, Module, Type, Value, traits::*};
use std::collections::HashSet;

/// Bits of a single-precision number.
const SIGN: u64 = 1 << 31;
const EXPONENT: u64 = 0xff << 23;

/// Flushes denormals where `denormal-fp-math-f32`, which x86 ignores, requires it.
pub fn flush(module: &Module) {
    for function in module.defined_functions() {
        if function.flushes_denormals() {
            let mut flushed = HashSet::new();
            for instruction in function.instructions() {
                flush_one(instruction, &mut flushed);
            }
        }
        function.remove_string_attributes(|name| name.starts_with("denormal-fp-math"));
    }
}

fn flush_one<'m>(instruction: Instruction<'m>, flushed: &mut HashSet<Value<'m>>) {
    let (flushes_operands, flushes_result) = flushes(instruction);
    if flushes_operands {
        let builder = Builder::before(instruction);
        for (index, operand) in instruction.indexed_operands() {
            if is_single(operand.ty()) && !flushed.contains(&operand) {
                let zeroed = without_denormals(&builder, operand);
                instruction.set_operand(index, zeroed.basic());
                flushed.insert(zeroed);
            }
        }
    }
    let Some(next) = instruction.next() else {
        return;
    };
    if flushes_result {
        let users = instruction.using_instructions();
        let zeroed = without_denormals(&Builder::before(next), instruction.value());
        for user in users {
            user.replace_operand(instruction.value(), zeroed);
        }
        flushed.insert(zeroed);
    } else if flushes_operands && instruction.get_opcode() != FPExt {
        // The result is never a denormal if no operand is one.
        flushed.insert(instruction.value());
    }
}

fn is_single(ty: Type) -> bool {
    ty.scalar() == Type::float()
}

/// Returns whether an operation flushes denormal operands to zero, and whether it flushes a denormal result.
fn flushes(instruction: Instruction) -> (bool, bool) {
    let single = is_single(instruction.ty());
    match instruction.get_opcode() {
        FAdd | FSub | FMul | FDiv if single => (true, true),
        FNeg if single => (true, false),
        FCmp | FPExt => (true, false),
        FPTrunc if single => (false, true),
        Opcode::Call if single => {
            let name = instruction.as_call().map(|call| call.function_name());
            let name = name.unwrap_or_default();
            let operation = name.strip_prefix("llvm.").unwrap_or_default();
            match operation.split('.').next() {
                Some("fma" | "fmuladd") => (true, true),
                Some(
                    "minnum" | "maxnum" | "minimum" | "maximum" | "minimumnum" | "maximumnum"
                    | "sqrt" | "fabs" | "floor" | "ceil" | "trunc" | "rint" | "nearbyint" | "round"
                    | "roundeven",
                ) => (true, false),
                _ => (false, false),
            }
        }
        _ => (false, false),
    }
}

fn without_denormals<'m>(builder: &Builder<'m>, number: Value<'m>) -> Value<'m> {
    let ty = number.ty();
    let bits_type = match ty {
        Type::VectorType(vector) => Type::int(32).vector(vector.get_size()),
        _ => Type::int(32),
    };
    let bits = builder.cast(BitCast, number, bits_type);
    let exponent = builder.binary(And, bits, bits_type.splat(EXPONENT));
    let is_small = builder.compare(EQ, exponent, bits_type.null());
    let zero = builder.binary(And, bits, bits_type.splat(SIGN));
    let chosen = builder.select(is_small, zero, bits);
    builder.cast(BitCast, chosen, ty)
}
