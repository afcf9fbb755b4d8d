//! Floating-point arithmetic. 16-bit values are represented as integers; support-library functions operate on them.

use super::Code;
use crate::ir::{Opcode::*, Type, Value, traits::*};
use crate::ptx::{Class, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    let (_, kind) = code.kinds()?;
    let to = code.to()?;
    let result = code.map_lanes(&code.inputs(kind)?, kind, |inputs| {
        if kind.bits == 16 {
            half_width(code, kind.lane(), inputs)
        } else {
            full_width(code, kind, inputs)
        }
    })?;
    code.define(to, result, false)
}

/// Computes in single or double precision.
fn full_width<'m>(code: &Code<'m, '_>, kind: Kind, inputs: &[Value<'m>]) -> Result<Value<'m>> {
    let instruction = code.instruction;
    let ty = super::type_of(kind);
    let letter = if kind.bits == 32 { "f" } else { "d" };
    let ftz = code.ftz();
    let mode = ["rz", "rm", "rp"].into_iter().find(|mode| code.has(mode));
    let is_default = mode.is_none() && ftz.is_empty();
    let builder = &code.builder;
    let approx = code.has("approx");
    let rounded = |name: &str, inputs: &[Value<'m>]| {
        let mode = mode.unwrap_or("rn");
        code.intrinsic(&format!("{name}_{mode}{ftz}_{letter}"), ty, inputs)
    };
    let result = match (instruction.opcode.as_str(), inputs) {
        ("add", &[a, b]) if is_default => builder.binary(FAdd, a, b),
        ("sub", &[a, b]) if is_default => builder.binary(FSub, a, b),
        ("mul", &[a, b]) if is_default => builder.binary(FMul, a, b),
        ("fma" | "mad", [_, _, _]) if is_default => {
            let fma = code.module.intrinsic("llvm.fma", &[ty]);
            builder.call(fma, inputs).value()
        }
        ("add" | "mul", [_, _]) => rounded(&instruction.opcode, inputs),
        // The library has functions for addition in every rounding mode, but none for subtraction.
        ("sub", &[a, b]) => rounded("add", &[a, builder.negate(b)]),
        ("fma" | "mad", [_, _, _]) => rounded("fma", inputs),
        ("div", [_, _]) if code.has("full") => {
            code.intrinsic(&format!("div_full{ftz}"), ty, inputs)
        }
        ("rcp", &[a]) if approx && ftz.is_empty() => {
            builder.binary(FDiv, code.operand(&Operand::Double(1.0), kind)?, a)
        }
        ("ex2", [_]) => code.intrinsic(&format!("ex2_approx{ftz}_f32"), ty, inputs),
        ("tanh", [_]) => code.support("tanh_approx_f32", ty, inputs),
        (name @ "div", [_, _])
        | (name @ ("rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2"), [_])
            if approx =>
        {
            code.intrinsic(&format!("{name}_approx{ftz}_{letter}"), ty, inputs)
        }
        ("div", &[a, b]) if is_default => builder.binary(FDiv, a, b),
        ("div", [_, _]) | ("rcp" | "sqrt", [_]) => rounded(&instruction.opcode, inputs),
        ("neg", &[a]) => flushed(code, builder.negate(a), kind),
        ("abs", &[a]) => {
            let a = flushed(code, a, kind);
            let zero = code.operand(&Operand::Integer(0), kind)?;
            copy_sign(code, kind, [zero, a])
        }
        ("copysign", &[from, to]) => copy_sign(code, kind, [from, to]),
        ("min" | "max", [_, _]) => {
            let nan = if code.has("NaN") { "_nan" } else { "" };
            let sign = if code.has("xorsign") {
                "_xorsign_abs"
            } else {
                ""
            };
            let name = format!("f{}{ftz}{nan}{sign}_{letter}", instruction.opcode);
            code.intrinsic(&name, ty, inputs)
        }
        _ => return code.unknown(),
    };
    Ok(saturated(code, result, kind))
}

/// Computes in IEEE half precision or bfloat16.
fn half_width<'m>(code: &Code<'m, '_>, kind: Kind, inputs: &[Value<'m>]) -> Result<Value<'m>> {
    let opcode = code.instruction.opcode.as_str();
    let arity = match opcode {
        "neg" | "abs" | "ex2" | "tanh" => 1,
        "add" | "sub" | "mul" | "min" | "max" => 2,
        "fma" => 3,
        _ => return code.unknown(),
    };
    code.require(inputs.len() == arity)?;
    let mut name = opcode.to_owned();
    for word in ["sat", "relu", "NaN", "xorsign", "abs"] {
        if code.has(word) {
            name += "_";
            name += word;
        }
    }
    let name = format!("{name}_{}", kind.name());
    if !code.has("ftz") || opcode == "ex2" {
        return Ok(code.support(&name, Type::int(16), inputs));
    }
    let inputs: Vec<Value> = inputs.iter().map(|v| flush(code, *v, kind)).collect();
    let result = code.support(&name, Type::int(16), &inputs);
    Ok(flush(code, result, kind))
}

fn copy_sign<'m>(code: &Code<'m, '_>, kind: Kind, [from, to]: [Value<'m>; 2]) -> Value<'m> {
    let bit = 1u64 << (kind.bits - 1);
    let masked = |value, mask| code.binary(And, code.bits_of(value), code.number(kind.bits, mask));
    let bits = code.binary(Or, masked(to, bit - 1), masked(from, bit));
    code.typed(bits, kind)
}

/// Replaces a denormal with a zero of the same sign, except in double precision, which has no `.ftz`.
pub fn flush<'m>(code: &Code<'m, '_>, value: Value<'m>, kind: Kind) -> Value<'m> {
    if kind.bits == 64 {
        return value;
    }
    code.support(&format!("flush_{}", kind.name()), value.ty(), &[value])
}

/// Calls [`flush`] if the instruction has `.ftz`.
pub fn flushed<'m>(code: &Code<'m, '_>, value: Value<'m>, kind: Kind) -> Value<'m> {
    if code.has("ftz") {
        flush(code, value, kind)
    } else {
        value
    }
}

/// Clamps the value to the range from 0 to 1 if the instruction has `.sat`.
pub fn saturated<'m>(code: &Code<'m, '_>, value: Value<'m>, kind: Kind) -> Value<'m> {
    if !code.has("sat") {
        return value;
    }
    match (kind.class, kind.bits) {
        (Class::Float, 32) => code.intrinsic("saturate_f", value.ty(), &[value]),
        (Class::Float, 64) => code.intrinsic("saturate_d", value.ty(), &[value]),
        _ => code.support(&format!("saturate_{}", kind.name()), value.ty(), &[value]),
    }
}

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
