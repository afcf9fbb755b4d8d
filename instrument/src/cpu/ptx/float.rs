//! Arithmetic of floating-point numbers. Numbers of 16 bits are integers here, which functions of the support library take.

use super::Code;
use crate::ir::{Opcode::*, Type, Value, traits::*};
use crate::ptx::{Class, Instruction, Kind};
use anyhow::Result;

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let (Some(&kind), Some(to)) = (instruction.kinds().last(), instruction.operands.first()) else {
        return code.unknown(instruction);
    };
    let inputs = code.inputs(instruction, kind)?;
    let result = code.map_lanes(&inputs, kind, |code, inputs| {
        if kind.bits == 16 {
            short(code, instruction, kind.lane(), inputs)
        } else {
            long(code, instruction, kind, inputs)
        }
    })?;
    code.define(to, result, false)
}

/// How an instruction rounds, to nearest unless it says otherwise.
pub fn rounding(instruction: &Instruction) -> &'static str {
    let modes = ["rz", "rm", "rp"];
    let named = modes.into_iter().find(|mode| instruction.has(mode));
    named.unwrap_or("rn")
}

/// Single and double precision.
fn long<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
    inputs: &[Value<'m>],
) -> Result<Value<'m>> {
    let ty = super::type_of(kind);
    let letter = if kind.bits == 32 { "f" } else { "d" };
    let ftz = if instruction.has("ftz") { "_ftz" } else { "" };
    let mode = rounding(instruction);
    let plain = mode == "rn" && ftz.is_empty();
    let builder = &code.builder;
    let approx = instruction.has("approx");
    let rounded = |name: &str, inputs: &[Value<'m>]| {
        code.intrinsic(&format!("{name}_{mode}{ftz}_{letter}"), ty, inputs)
    };
    let approximate =
        |name: &str| code.intrinsic(&format!("{name}_approx{ftz}_{letter}"), ty, inputs);
    let result = match (instruction.opcode.as_str(), inputs) {
        ("add", [a, b]) if plain => builder.binary(FAdd, *a, *b),
        ("sub", [a, b]) if plain => builder.binary(FSub, *a, *b),
        ("mul", [a, b]) if plain => builder.binary(FMul, *a, *b),
        ("fma" | "mad", [_, _, _]) if plain => {
            let fma = code.module.intrinsic("llvm.fma", &[ty]);
            builder.call(fma, inputs).value()
        }
        ("add" | "mul", [_, _]) => rounded(&instruction.opcode, inputs),
        // The library has the additions in every rounding mode.
        ("sub", [a, b]) => rounded("add", &[*a, builder.negate(*b)]),
        ("fma" | "mad", [_, _, _]) => rounded("fma", inputs),
        ("div", [_, _]) if instruction.has("full") => {
            code.intrinsic(&format!("div_full{ftz}"), ty, inputs)
        }
        ("rcp", [a]) if approx && ftz.is_empty() => {
            let one = one(code, kind);
            builder.binary(FDiv, one, *a)
        }
        ("ex2", [_]) => code.intrinsic(&format!("ex2_approx{ftz}_f32"), ty, inputs),
        ("tanh", [_]) => code.support("tanh_approx_f32", ty, inputs),
        ("div", [_, _]) | ("rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2", [_]) if approx => {
            approximate(&instruction.opcode)
        }
        ("div", [a, b]) if plain => builder.binary(FDiv, *a, *b),
        ("div", [_, _]) | ("rcp" | "sqrt", [_]) => rounded(&instruction.opcode, inputs),
        ("neg", [a]) => flushed(code, instruction, builder.negate(*a), kind),
        ("abs", [a]) => {
            let a = flushed(code, instruction, *a, kind);
            with_sign_of(code, kind, a, code.typed(code.number(kind.bits, 0), kind))
        }
        // The first operand gives the sign.
        ("copysign", [sign, magnitude]) => with_sign_of(code, kind, *magnitude, *sign),
        ("min" | "max", [_, _]) => {
            let mut name = format!("f{}{ftz}", instruction.opcode);
            if instruction.has("NaN") {
                name += "_nan";
            }
            if instruction.has("xorsign") {
                name += "_xorsign_abs";
            }
            code.intrinsic(&format!("{name}_{letter}"), ty, inputs)
        }
        _ => return code.unknown(instruction),
    };
    Ok(saturated(code, instruction, result, kind))
}

/// IEEE's half precision and bfloat16.
fn short<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
    inputs: &[Value<'m>],
) -> Result<Value<'m>> {
    let arity = match instruction.opcode.as_str() {
        "neg" | "abs" | "ex2" | "tanh" => 1,
        "add" | "sub" | "mul" | "min" | "max" => 2,
        "fma" => 3,
        _ => return code.unknown(instruction),
    };
    if inputs.len() != arity {
        return code.unknown(instruction);
    }
    let mut name = instruction.opcode.clone();
    for word in ["sat", "relu", "NaN", "xorsign", "abs"] {
        if instruction.modifiers.iter().any(|m| m == word) {
            name += "_";
            name += word;
        }
    }
    let name = format!("{name}_{}", kind.name());
    if !instruction.has("ftz") || instruction.opcode == "ex2" {
        return Ok(code.support(&name, Type::int(16), inputs));
    }
    let inputs: Vec<Value> = inputs.iter().map(|v| flush(code, *v, kind)).collect();
    let result = code.support(&name, Type::int(16), &inputs);
    Ok(flush(code, result, kind))
}

fn one<'m>(code: &Code<'m, '_>, kind: Kind) -> Value<'m> {
    let bits = match kind.bits {
        32 => u64::from(1f32.to_bits()),
        _ => 1f64.to_bits(),
    };
    code.typed(code.number(kind.bits, bits), kind)
}

/// The magnitude of one number with the sign of another.
fn with_sign_of<'m>(
    code: &Code<'m, '_>,
    kind: Kind,
    magnitude: Value<'m>,
    sign: Value<'m>,
) -> Value<'m> {
    let bit = 1u64 << (kind.bits - 1);
    let (magnitude, sign) = (code.bits_of(magnitude), code.bits_of(sign));
    let magnitude = code.binary(And, magnitude, code.number(kind.bits, bit - 1));
    let sign = code.binary(And, sign, code.number(kind.bits, bit));
    code.typed(code.binary(Or, magnitude, sign), kind)
}

/// A denormal becomes a zero of its sign; there is no such mode of double precision.
pub fn flush<'m>(code: &Code<'m, '_>, value: Value<'m>, kind: Kind) -> Value<'m> {
    if kind.bits == 64 {
        return value;
    }
    code.support(&format!("flush_{}", kind.name()), value.ty(), &[value])
}

pub fn flushed<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    value: Value<'m>,
    kind: Kind,
) -> Value<'m> {
    match instruction.has("ftz") {
        true => flush(code, value, kind),
        false => value,
    }
}

/// Within 0 and 1, if the instruction says so.
pub fn saturated<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    value: Value<'m>,
    kind: Kind,
) -> Value<'m> {
    if !instruction.modifiers.iter().any(|m| m == "sat") {
        return value;
    }
    match (kind.class, kind.bits) {
        (Class::Float, 32) => code.intrinsic("saturate_f", value.ty(), &[value]),
        (Class::Float, 64) => code.intrinsic("saturate_d", value.ty(), &[value]),
        _ => code.support(&format!("saturate_{}", kind.name()), value.ty(), &[value]),
    }
}

/// A number of 16 bits in single precision; others as they are.
pub fn widen<'m>(code: &Code<'m, '_>, value: Value<'m>, kind: Kind) -> Value<'m> {
    let builder = &code.builder;
    match (kind.class, kind.bits) {
        (Class::Float, 16) => {
            let half = builder.cast(BitCast, value, Type::half());
            builder.cast(FPExt, half, Type::float())
        }
        (Class::Brain, _) => {
            let bits = code.integer(value, 32, false);
            let bits = code.binary(Shl, bits, code.number(32, 16));
            builder.cast(BitCast, bits, Type::float())
        }
        _ => value,
    }
}
