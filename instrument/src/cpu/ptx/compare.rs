//! Comparisons.

use super::moves::combine;
use super::{Code, float};
use crate::ir::{FloatPredicate as Real, IntPredicate as Int, Opcode, Type, Value, traits::*};
use crate::ptx::{Class, Instruction, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let kinds = instruction.kinds();
    let (Some(&result), Some(&kind)) = (kinds.first(), kinds.last()) else {
        return code.unknown(instruction);
    };
    match (instruction.opcode.as_str(), &instruction.operands[..]) {
        ("testp", [to, value]) => {
            let value = code.operand(value, kind)?;
            let name = instruction.mnemonic().replace('.', "_");
            let holds = code.support(&name, Type::int(1), &[value]);
            code.define(to, holds, false)
        }
        ("setp", [to, a, b, with @ ..]) => {
            let holds = each(code, instruction, kind, [a, b])?;
            let with = with.first();
            match (to, &holds[..]) {
                // Of pairs, a predicate each.
                (Operand::Both(first, second), [low, high]) => {
                    let (low, high) = (*low, *high);
                    let low = combine(code, instruction, low, with)?;
                    let high = combine(code, instruction, high, with)?;
                    code.define(first, low, false)?;
                    code.define(second, high, false)
                }
                (Operand::Both(first, second), [holds]) => {
                    let not = code.binary(Opcode::Xor, *holds, code.number(1, 1));
                    let holds = combine(code, instruction, *holds, with)?;
                    let not = combine(code, instruction, not, with)?;
                    code.define(first, holds, false)?;
                    code.define(second, not, false)
                }
                (to, [holds]) => {
                    let holds = combine(code, instruction, *holds, with)?;
                    code.define(to, holds, false)
                }
                _ => code.unknown(instruction),
            }
        }
        ("set", [to, a, b, with @ ..]) => {
            let holds = each(code, instruction, kind, [a, b])?;
            let lane = Kind {
                class: result.class,
                bits: result.register_bits() / holds.len() as u32,
                lanes: holds.len() as u32,
            };
            let mut numbers = Vec::new();
            for holds in holds {
                let holds = combine(code, instruction, holds, with.first())?;
                let (yes, no) = (
                    code.number(lane.bits, truth(lane)),
                    code.number(lane.bits, 0),
                );
                numbers.push(code.builder.select(holds, yes, no));
            }
            let value = code.join(&numbers, lane);
            code.define(to, value, false)
        }
        _ => code.unknown(instruction),
    }
}

/// What `set` gives for what holds: 1.0, or all ones.
fn truth(kind: Kind) -> u64 {
    match (kind.class, kind.bits) {
        (Class::Float, 16) => 0x3c00,
        (Class::Float, 32) => 0x3f80_0000,
        (Class::Brain, _) => 0x3f80,
        _ => u64::MAX >> (64 - kind.bits),
    }
}

/// Whether the comparison holds, for each of the numbers in the operands.
fn each<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
    operands: [&Operand; 2],
) -> Result<Vec<Value<'m>>> {
    let mut sides = Vec::new();
    for operand in operands {
        let value = code.operand(operand, kind)?;
        sides.push(code.lanes(value, kind));
    }
    let pairs = sides[0].iter().zip(&sides[1]);
    pairs
        .map(|(a, b)| holds(code, instruction, kind.lane(), *a, *b))
        .collect()
}

fn holds<'m>(
    code: &Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
    a: Value<'m>,
    b: Value<'m>,
) -> Result<Value<'m>> {
    let name = instruction.modifiers.first().map_or("", String::as_str);
    if kind.is_float() {
        let predicate = match name {
            "eq" => Real::OEQ,
            "ne" => Real::ONE,
            "lt" => Real::OLT,
            "le" => Real::OLE,
            "gt" => Real::OGT,
            "ge" => Real::OGE,
            "equ" => Real::UEQ,
            "neu" => Real::UNE,
            "ltu" => Real::ULT,
            "leu" => Real::ULE,
            "gtu" => Real::UGT,
            "geu" => Real::UGE,
            "num" => Real::ORD,
            "nan" => Real::UNO,
            _ => return code.unknown(instruction),
        };
        let flushed = |value| match instruction.has("ftz") {
            true => float::flush(code, value, kind),
            false => value,
        };
        let (a, b) = (flushed(a), flushed(b));
        let (a, b) = (float::widen(code, a, kind), float::widen(code, b, kind));
        return Ok(code.builder.compare_floats(predicate, a, b));
    }
    let predicate = match (name, kind.is_signed()) {
        ("eq", _) => Int::EQ,
        ("ne", _) => Int::NE,
        ("lt", true) => Int::SLT,
        ("le", true) => Int::SLE,
        ("gt", true) => Int::SGT,
        ("ge", true) => Int::SGE,
        ("lt" | "lo", _) => Int::ULT,
        ("le" | "ls", _) => Int::ULE,
        ("gt" | "hi", _) => Int::UGT,
        ("ge" | "hs", _) => Int::UGE,
        _ => return code.unknown(instruction),
    };
    Ok(code.builder.compare(predicate, a, b))
}
