//! Moving, choosing, and addresses of one space as those of another.

use super::{Code, memory};
use crate::ir::{FloatPredicate::OGE, IntPredicate::SGE, Opcode, Type, traits::*};
use crate::ptx::{Class, Instruction, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let kinds = instruction.kinds();
    let (kind, last) = match (kinds.first(), kinds.last(), instruction.opcode.as_str()) {
        (Some(kind), Some(last), _) => (*kind, *last),
        (_, _, "isspacep") => (Kind::PREDICATE, Kind::PREDICATE),
        _ => return code.unknown(instruction),
    };
    match (instruction.opcode.as_str(), &instruction.operands[..]) {
        ("mov", [Operand::Vector(to), Operand::Vector(from)]) if to.len() == from.len() => {
            // All are read before one is written.
            let values = from.iter().map(|part| code.operand(part, kind));
            let values = values.collect::<Result<Vec<_>>>()?;
            let mut parts = to.iter().zip(values);
            parts.try_for_each(|(part, value)| code.define(part, value, false))
        }
        ("mov", [Operand::Vector(parts), from]) => {
            let whole = code.operand(from, kind)?;
            let whole = code.bits_of(whole);
            let part = part_of(kind, parts.len());
            for (part, value) in parts.iter().zip(code.lanes(whole, part)) {
                code.define(part, value, false)?;
            }
            Ok(())
        }
        ("mov", [to, Operand::Vector(parts)]) => {
            let part = part_of(kind, parts.len());
            let lanes = parts.iter().map(|p| code.operand(p, part.lane()));
            let lanes = lanes.collect::<Result<Vec<_>>>()?;
            let whole = code.join(&lanes, part);
            code.define(to, whole, false)
        }
        ("mov", [to, from]) => {
            let value = code.operand(from, kind)?;
            code.define(to, value, false)
        }
        ("selp", [to, then, otherwise, condition]) => {
            let (then, otherwise) = (code.operand(then, kind)?, code.operand(otherwise, kind)?);
            let condition = code.operand(condition, Kind::PREDICATE)?;
            let value = code.builder.select(condition, then, otherwise);
            code.define(to, value, false)
        }
        ("slct", [to, then, otherwise, condition]) => {
            let (then, otherwise) = (code.operand(then, kind)?, code.operand(otherwise, kind)?);
            let condition = code.operand(condition, last)?;
            let zero = code.typed(code.number(32, 0), last);
            let holds = match last.class {
                Class::Float => code.builder.compare_floats(OGE, condition, zero),
                _ => code.builder.compare(SGE, condition, zero),
            };
            let value = code.builder.select(holds, then, otherwise);
            code.define(to, value, false)
        }
        // Addresses are the same in all spaces, but that one of shared memory may be kept in 32 bits.
        ("cvta", [to, from]) => {
            let number = code.operand(from, kind)?;
            let number = if instruction.has("shared") && !instruction.has("to") {
                let pointer = memory::shared_pointer(code, number);
                code.bits_of(pointer)
            } else {
                number
            };
            code.define(to, number, false)
        }
        // A cluster is one CTA here.
        ("mapa", [to, address, _]) => {
            let kind = *instruction.kinds().last().unwrap_or(&Kind::U64);
            let same = code.operand(address, kind)?;
            code.define(to, same, false)
        }
        ("getctarank", [to, _]) => {
            let first = code.number(32, 0);
            code.define(to, first, false)
        }
        ("isspacep", [to, address]) => {
            let number = code.operand(address, Kind::U64)?;
            let pointer = code.builder.to_generic(number);
            let space = instruction.modifiers.join("_").replace("::", "_");
            let space = space.trim_end_matches("_cta").trim_end_matches("_cluster");
            let name = format!("isspacep_{space}");
            let holds = code.intrinsic(&name, Type::int(1), &[pointer]);
            code.define(to, holds, false)
        }
        _ => code.unknown(instruction),
    }
}

/// The parts of a value that is taken apart into so many.
fn part_of(whole: Kind, count: usize) -> Kind {
    Kind {
        class: Class::Bits,
        bits: whole.register_bits() / count.max(1) as u32,
        lanes: count.max(1) as u32,
    }
}

/// Takes a boolean and another one together, as `setp.lt.and` does.
pub fn combine<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    value: crate::ir::Value<'m>,
    with: Option<&Operand>,
) -> Result<crate::ir::Value<'m>> {
    let Some(with) = with else {
        return Ok(value);
    };
    let with = code.operand(with, Kind::PREDICATE)?;
    let operation = match instruction.modifiers.get(1).map(String::as_str) {
        Some("and") => Opcode::And,
        Some("or") => Opcode::Or,
        Some("xor") => Opcode::Xor,
        _ => return code.unknown(instruction),
    };
    Ok(code.binary(operation, value, with))
}
