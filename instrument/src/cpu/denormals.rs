//! Flushes single-precision denormals, as with nvcc's `-ftz=true`. x86's flush mode would affect doubles too, so each
//! operation's operands and results are flushed explicitly, as GPU instructions do.

use crate::ir::{
    Builder, Instruction,
    IntPredicate::EQ,
    Module,
    Opcode::{self, *},
    Type, Value,
    traits::*,
};
use std::collections::HashSet;

/// Bits of a single-precision number.
const SIGN: u64 = 1 << 31;
const EXPONENT: u64 = 0xff << 23;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flushes {
    Nothing,
    /// The result is never a denormal if the operands are not, except after an extension from another format.
    Operands,
    Result,
    Both,
}

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
    let flushes = what(instruction);
    if matches!(flushes, Flushes::Operands | Flushes::Both) {
        let builder = Builder::before(instruction);
        let parameters = match instruction.as_call() {
            Some(call) => call.arguments().len() as u32,
            None => instruction.operand_count(),
        };
        for index in 0..parameters {
            let operand = instruction.operand(index);
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
    if matches!(flushes, Flushes::Result | Flushes::Both) {
        let users = instruction.using_instructions();
        let zeroed = without_denormals(&Builder::before(next), instruction.value());
        for user in users {
            user.replace_operand(instruction.value(), zeroed);
        }
        flushed.insert(zeroed);
    } else if flushes == Flushes::Operands && instruction.get_opcode() != FPExt {
        flushed.insert(instruction.value());
    }
}

fn is_single(ty: Type) -> bool {
    ty.scalar() == Type::float()
}

fn what(instruction: Instruction) -> Flushes {
    let single = is_single(instruction.ty());
    match instruction.get_opcode() {
        FAdd | FSub | FMul | FDiv if single => Flushes::Both,
        FNeg if single => Flushes::Operands,
        FCmp | FPExt => Flushes::Operands,
        FPTrunc if single => Flushes::Result,
        Opcode::Call if single => {
            let name = instruction.as_call().map(|call| call.function_name());
            let name = name.unwrap_or_default();
            let operation = name.strip_prefix("llvm.").unwrap_or_default();
            match operation.split('.').next() {
                Some("fma" | "fmuladd") => Flushes::Both,
                Some(
                    "minnum" | "maxnum" | "minimum" | "maximum" | "minimumnum" | "maximumnum"
                    | "sqrt" | "fabs" | "floor" | "ceil" | "trunc" | "rint" | "nearbyint" | "round"
                    | "roundeven",
                ) => Flushes::Operands,
                _ => Flushes::Nothing,
            }
        }
        _ => Flushes::Nothing,
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
