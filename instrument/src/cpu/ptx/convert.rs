//! Conversions.

use super::{Code, float};
use crate::ir::{Opcode::*, Type, Value, traits::*};
use crate::ptx::{Class, Kind};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    if (code.instruction).has_any(&["tf32", "e4m3x2", "e5m2x2"]) {
        return by_name(code);
    }
    let &[to, from] = code.exactly(&code.instruction.kinds())?;
    match &code.instruction.operands[..] {
        [result, value] if to.lanes == from.lanes => {
            let value = code.operand(value, from)?;
            let value = code.map_lanes(&[value], from, |value| {
                Ok(convert(code, value[0], from.lane(), to.lane()))
            });
            code.define(result, value?, to.is_signed())
        }
        // Packs two single-precision numbers; the first becomes the upper half.
        [result, upper, lower] if to.lanes == 2 && from.lanes == 1 => {
            let half = |operand| -> Result<Value> {
                Ok(convert(code, code.operand(operand, from)?, from, to.lane()))
            };
            let value = code.join(&[half(lower)?, half(upper)?], to);
            code.define(result, value, false)
        }
        _ => code.unknown(),
    }
}

fn mode(code: &Code) -> (&'static str, u64) {
    let named = |(name, _): &(&str, u64)| {
        let mut words = code.instruction.modifiers.iter();
        words.any(|word| word.strip_suffix('i').unwrap_or(word) == *name)
    };
    let mut modes = ["rn", "rz", "rm", "rp"].into_iter().zip(0..);
    modes.find(named).unwrap_or(("rn", 0))
}

fn convert<'m>(code: &Code<'m, '_>, value: Value<'m>, from: Kind, to: Kind) -> Value<'m> {
    match (from.is_float(), to.is_float()) {
        (false, false) if code.has("sat") => {
            let wide = code.integer(value, 128, from.is_signed());
            code.saturate(wide, to)
        }
        (false, false) => code.integer(value, to.bits, from.is_signed()),
        (false, true) => float::saturated(code, from_integer(code, value, from, to), to),
        (true, false) => to_integer(code, value, from, to),
        (true, true) => between_floats(code, value, from, to),
    }
}

/// Returns the support library's abbreviation for a 32-bit or 64-bit integer type.
fn letters(bits: u32, is_signed: bool) -> &'static str {
    match (bits, is_signed) {
        (64, true) => "ll",
        (64, false) => "ull",
        (_, true) => "i",
        (_, false) => "ui",
    }
}

fn from_integer<'m>(code: &Code<'m, '_>, value: Value<'m>, from: Kind, to: Kind) -> Value<'m> {
    let (mode, number) = mode(code);
    let ty = super::type_of(to);
    let signed = from.is_signed();
    if to.bits == 16 {
        let wide = code.integer(value, 64, signed);
        let sign = if signed { "s64" } else { "u64" };
        let name = format!("{}_of_{sign}", to.name());
        return code.support(&name, ty, &[wide, code.number(32, number)]);
    }
    if mode == "rn" {
        let cast = if signed { SIToFP } else { UIToFP };
        return code.builder.cast(cast, value, ty);
    }
    let source = letters(from.bits, signed);
    let target = if to.bits == 32 { "f" } else { "d" };
    let wide = code.integer(value, from.bits.max(32), signed);
    code.intrinsic(&format!("{source}2{target}_{mode}"), ty, &[wide])
}

/// Saturates a number that is out of range; the support library defines the result for NaN.
fn to_integer<'m>(code: &Code<'m, '_>, value: Value<'m>, from: Kind, to: Kind) -> Value<'m> {
    let value = float::widen(code, value, from);
    let (mode, _) = mode(code);
    let source = if from.bits == 64 { "d" } else { "f" };
    let target = letters(to.bits, to.bits < 32 || to.is_signed());
    let ftz = if from.bits == 32 { code.ftz() } else { "" };
    let name = format!("{source}2{target}_{mode}{ftz}");
    let number = code.intrinsic(&name, Type::int(to.bits.max(32)), &[value]);
    if to.bits < 32 {
        code.saturate(number, to)
    } else {
        number
    }
}

fn between_floats<'m>(code: &Code<'m, '_>, value: Value<'m>, from: Kind, to: Kind) -> Value<'m> {
    let (mode, number) = mode(code);
    let mut wide = float::widen(code, value, from);
    let wide_kind = Kind::new(Class::Float, from.bits.max(32));
    if from.bits == 32 {
        wide = float::flushed(code, wide, wide_kind);
    }
    if (code.instruction).has_any(&["rni", "rzi", "rmi", "rpi"]) {
        let function = match mode {
            "rn" => "round",
            "rz" => "trunc",
            "rm" => "floor",
            _ => "ceil",
        };
        let letter = if wide_kind.bits == 32 { "f" } else { "d" };
        wide = code.intrinsic(&format!("{function}_{letter}"), wide.ty(), &[wide]);
    }
    let double = |value: Value<'m>| code.builder.cast(FPExt, value, Type::double());
    let result = match to.bits {
        16 => {
            let name = format!("{}_of_f64", to.name());
            let arguments = [double(wide), code.number(32, number)];
            let value = code.support(&name, Type::int(16), &arguments);
            if code.has("relu") {
                code.support(&format!("relu_{}", to.name()), Type::int(16), &[value])
            } else {
                value
            }
        }
        64 => double(wide),
        _ if wide.ty() == Type::double() => {
            code.intrinsic(&format!("d2f_{mode}{}", code.ftz()), Type::float(), &[wide])
        }
        _ => wide,
    };
    float::saturated(code, result, to)
}

fn by_name(code: &mut Code) -> Result<()> {
    let [to, from] = code.known(code.instruction.modifiers.last_chunk())?;
    let bits = match to.as_str() {
        "tf32" | "f16x2" => 32,
        "e4m3x2" | "e5m2x2" => 16,
        _ => return code.unknown(),
    };
    let from = Kind::of(from).unwrap_or(Kind::new(Class::Bits, 16));
    let value = code.same_named_function(Type::int(bits), &code.inputs(from)?);
    code.define(code.to()?, value, false)
}
