//! Conversions.

use super::{Code, float, integer};
use crate::ir::{Opcode::*, Type, Value, traits::*};
use crate::ptx::{Class, Instruction, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let small = ["tf32", "e4m3x2", "e5m2x2"];
    if instruction
        .modifiers
        .iter()
        .any(|word| small.contains(&word.as_str()))
    {
        return by_name(code, instruction);
    }
    let (to, from) = match instruction.kinds()[..] {
        [to, from] => (to, from),
        _ => return code.unknown(instruction),
    };
    match &instruction.operands[..] {
        [result, value] if to.lanes == from.lanes => {
            let value = code.operand(value, from)?;
            let value = code.map_lanes(&[value], from, |code, value| {
                convert(code, instruction, value[0], from.lane(), to.lane())
            });
            code.define(result, value?, to.is_signed())
        }
        // Two numbers of single precision; the first becomes the upper half.
        [result, upper, lower] if to.lanes == 2 && from.lanes == 1 => {
            let mut halves = Vec::new();
            for operand in [lower, upper] {
                let value = code.operand(operand, from)?;
                halves.push(convert(code, instruction, value, from, to.lane())?);
            }
            let value = code.join(&halves, to);
            code.define(result, value, false)
        }
        _ => code.unknown(instruction),
    }
}

/// How it rounds: the name, and the support library's number of it.
fn mode(instruction: &Instruction) -> (&'static str, u64) {
    let modes = ["rn", "rz", "rm", "rp"];
    let named = |(_, name): &(usize, &&str)| {
        let mut words = instruction.modifiers.iter();
        words.any(|word| word.strip_suffix('i').unwrap_or(word) == **name)
    };
    let found = modes.iter().enumerate().find(named);
    found.map_or(("rn", 0), |(number, name)| (*name, number as u64))
}

fn convert<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    value: Value<'m>,
    from: Kind,
    to: Kind,
) -> Result<Value<'m>> {
    match (from.is_float(), to.is_float()) {
        (false, false) if instruction.has("sat") => {
            let wide = code.integer(value, 128, from.is_signed());
            Ok(integer::saturate(code, wide, to))
        }
        (false, false) => Ok(code.integer(value, to.bits, from.is_signed())),
        (false, true) => {
            let value = of_integer(code, instruction, value, from, to);
            Ok(float::saturated(code, instruction, value, to))
        }
        (true, false) => Ok(to_integer(code, instruction, value, from, to)),
        (true, true) => between_floats(code, instruction, value, from, to),
    }
}

fn of_integer<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    value: Value<'m>,
    from: Kind,
    to: Kind,
) -> Value<'m> {
    let (mode, number) = mode(instruction);
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
    let (bits, source) = match (from.bits, signed) {
        (64, true) => (64, "ll"),
        (64, false) => (64, "ull"),
        (_, true) => (32, "i"),
        (_, false) => (32, "ui"),
    };
    let target = if to.bits == 32 { "f" } else { "d" };
    let wide = code.integer(value, bits, signed);
    code.intrinsic(&format!("{source}2{target}_{mode}"), ty, &[wide])
}

/// Out of range the nearest bound; what is no number is the support library's matter.
fn to_integer<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    value: Value<'m>,
    from: Kind,
    to: Kind,
) -> Value<'m> {
    let value = float::widen(code, value, from);
    let (mode, _) = mode(instruction);
    let source = if from.bits == 64 { "d" } else { "f" };
    let (bits, target) = match (to.bits, to.is_signed()) {
        (64, true) => (64, "ll"),
        (64, false) => (64, "ull"),
        (32, false) => (32, "ui"),
        _ => (32, "i"),
    };
    let ftz = match instruction.has("ftz") && from.bits == 32 {
        true => "_ftz",
        false => "",
    };
    let name = format!("{source}2{target}_{mode}{ftz}");
    let number = code.intrinsic(&name, Type::int(bits), &[value]);
    match to.bits < 32 {
        true => integer::saturate(code, number, to),
        false => number,
    }
}

fn between_floats<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    value: Value<'m>,
    from: Kind,
    to: Kind,
) -> Result<Value<'m>> {
    let (mode, number) = mode(instruction);
    let mut wide = float::widen(code, value, from);
    let ftz = instruction.has("ftz");
    let wide_kind = Kind::new(Class::Float, from.bits.max(32));
    if ftz && from.bits == 32 {
        wide = float::flush(code, wide, wide_kind);
    }
    let mut words = instruction.modifiers.iter();
    if words.any(|word| ["rni", "rzi", "rmi", "rpi"].contains(&word.as_str())) {
        let function = match mode {
            "rn" => "round",
            "rz" => "trunc",
            "rm" => "floor",
            _ => "ceil",
        };
        let letter = if wide_kind.bits == 32 { "f" } else { "d" };
        wide = code.intrinsic(&format!("{function}_{letter}"), wide.ty(), &[wide]);
    }
    let double = |value: Value<'m>| match value.ty() == Type::double() {
        true => value,
        false => code.builder.cast(FPExt, value, Type::double()),
    };
    let result = match (to.class, to.bits) {
        (_, 16) => {
            let name = format!("{}_of_f64", to.name());
            let arguments = [double(wide), code.number(32, number)];
            let value = code.support(&name, Type::int(16), &arguments);
            match instruction.has("relu") {
                true => code.support(&format!("relu_{}", to.name()), Type::int(16), &[value]),
                false => value,
            }
        }
        (_, 64) => double(wide),
        _ if wide.ty() == Type::double() => {
            let ftz = if ftz { "_ftz" } else { "" };
            code.intrinsic(&format!("d2f_{mode}{ftz}"), Type::float(), &[wide])
        }
        _ => wide,
    };
    Ok(float::saturated(code, instruction, result, to))
}

/// Types that only conversions know: a function for each.
fn by_name(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let result_bits = |word: &str| match word {
        "tf32" | "f16x2" => Some(32),
        "e4m3x2" | "e5m2x2" => Some(16),
        _ => None,
    };
    let [.., to, from] = &instruction.modifiers[..] else {
        return code.unknown(instruction);
    };
    let Some(bits) = result_bits(to) else {
        return code.unknown(instruction);
    };
    let from = Kind::of(from).unwrap_or(Kind::new(Class::Bits, 16));
    let values = code.inputs(instruction, from)?;
    let name = instruction.mnemonic().replace('.', "_");
    let value = code.support(&name, Type::int(bits), &values);
    match instruction.operands.first() {
        Some(result @ Operand::Register(_)) => code.define(result, value, false),
        _ => code.unknown(instruction),
    }
}
