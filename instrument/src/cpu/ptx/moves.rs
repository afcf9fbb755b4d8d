//! Moves, selections, and conversions between address spaces.

use super::{Code, memory};
use crate::ir::{FloatPredicate::OGE, IntPredicate::SGE, Type, traits::*};
use crate::ptx::{Class, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    let instruction = code.instruction;
    let (kind, last) = match instruction.opcode.as_str() {
        "isspacep" => (Kind::PREDICATE, Kind::PREDICATE),
        _ => code.kinds()?,
    };
    let (to, value) = match (instruction.opcode.as_str(), &instruction.operands[..]) {
        ("mov", [Operand::Vector(to), Operand::Vector(from)]) if to.len() == from.len() => {
            // Read all registers before writing any.
            let values = code.values(from, kind)?;
            return code.define_all(to, values, false);
        }
        ("mov", [Operand::Vector(parts), from]) => {
            let whole = code.bits_of(code.operand(from, kind)?);
            let lanes = code.lanes(whole, part_of(kind, parts.len()));
            return code.define_all(parts, lanes, false);
        }
        ("mov", [to, Operand::Vector(parts)]) => {
            let part = part_of(kind, parts.len());
            (to, code.join(&code.values(parts, part.lane())?, part))
        }
        ("mov", [to, from]) => (to, code.operand(from, kind)?),
        ("selp", [to, then, otherwise, condition]) => {
            let (then, otherwise) = (code.operand(then, kind)?, code.operand(otherwise, kind)?);
            let condition = code.operand(condition, Kind::PREDICATE)?;
            (to, code.builder.select(condition, then, otherwise))
        }
        ("slct", [to, then, otherwise, condition]) => {
            let (then, otherwise) = (code.operand(then, kind)?, code.operand(otherwise, kind)?);
            let condition = code.operand(condition, last)?;
            let zero = code.typed(code.number(32, 0), last);
            let is_nonnegative = match last.class {
                Class::Float => code.builder.compare_floats(OGE, condition, zero),
                _ => code.builder.compare(SGE, condition, zero),
            };
            (to, code.builder.select(is_nonnegative, then, otherwise))
        }
        // Addresses are the same in all spaces, except that a shared-memory address may have only 32 bits.
        ("cvta", [to, from]) => {
            let number = code.operand(from, kind)?;
            if code.has("shared") && !code.has("to") {
                (to, code.bits_of(memory::shared_pointer(code, number)))
            } else {
                (to, number)
            }
        }
        // A cluster consists of one CTA.
        ("mapa", [to, address, _]) => (to, code.operand(address, last)?),
        ("getctarank", [to, _]) => (to, code.number(32, 0)),
        ("isspacep", [to, address]) => {
            let number = code.operand(address, Kind::U64)?;
            let pointer = code.builder.to_generic(number);
            let space = instruction.modifiers.join("_").replace("::", "_");
            let space = space.trim_end_matches("_cta").trim_end_matches("_cluster");
            let name = format!("isspacep_{space}");
            (to, code.intrinsic(&name, Type::int(1), &[pointer]))
        }
        _ => return code.unknown(),
    };
    code.define(to, value, false)
}

fn part_of(whole: Kind, count: usize) -> Kind {
    let lanes = count.max(1) as u32;
    Kind {
        class: Class::Bits,
        bits: whole.register_bits() / lanes,
        lanes,
    }
}
