//! Comparisons.

use super::{Code, float};
use crate::ir::{FloatPredicate as Real, IntPredicate as Int, Opcode, Type, Value, traits::*};
use crate::ptx::{Class, Kind, Operand};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    let (result, kind) = code.kinds()?;
    let instruction = code.instruction;
    match (instruction.opcode.as_str(), &instruction.operands[..]) {
        ("testp", [to, value]) => {
            let value = code.operand(value, kind)?;
            let outcome = code.same_named_function(Type::int(1), &[value]);
            code.define(to, outcome, false)
        }
        ("setp", [to, a, b, with @ ..]) => {
            let outcomes = compare(code, kind, [a, b])?;
            let with = with.first();
            match (to, &outcomes[..]) {
                (Operand::Pair(first, second), &[low, ref rest @ ..]) => {
                    // Each element of a pair gets its own predicate.
                    let high = match rest {
                        [high] => *high,
                        _ => code.binary(Opcode::Xor, low, code.number(1, 1)),
                    };
                    let (low, high) = (code.combine(low, with)?, code.combine(high, with)?);
                    code.define(first, low, false)?;
                    code.define(second, high, false)
                }
                (to, &[outcome]) => code.define(to, code.combine(outcome, with)?, false),
                _ => code.unknown(),
            }
        }
        ("set", [to, a, b, with @ ..]) => {
            let outcomes = compare(code, kind, [a, b])?;
            let lanes = outcomes.len() as u32;
            let bits = result.register_bits() / lanes;
            let class = result.class;
            let lane = Kind { class, bits, lanes };
            let (yes, no) = (code.number(bits, truth(lane)), code.number(bits, 0));
            let numbers = outcomes.into_iter().map(|outcome| {
                let outcome = code.combine(outcome, with.first())?;
                Ok(code.builder.select(outcome, yes, no))
            });
            let value = code.join(&numbers.collect::<Result<Vec<_>>>()?, lane);
            code.define(to, value, false)
        }
        _ => code.unknown(),
    }
}

impl<'m> Code<'m, '_> {
    /// Combines a predicate with a second one, as in `setp.lt.and`.
    fn combine(&self, value: Value<'m>, with: Option<&Operand>) -> Result<Value<'m>> {
        let Some(with) = with else {
            return Ok(value);
        };
        let with = self.operand(with, Kind::PREDICATE)?;
        let operation = match self.instruction.modifiers.get(1).map(String::as_str) {
            Some("and") => Opcode::And,
            Some("or") => Opcode::Or,
            Some("xor") => Opcode::Xor,
            _ => return self.unknown(),
        };
        Ok(self.binary(operation, value, with))
    }
}

/// Returns the result of `set` if the comparison is true: 1.0 or all ones.
fn truth(kind: Kind) -> u64 {
    match (kind.class, kind.bits) {
        (Class::Float, 16) => 0x3c00,
        (Class::Float, 32) => 0x3f80_0000,
        (Class::Brain, _) => 0x3f80,
        _ => u64::MAX >> (64 - kind.bits),
    }
}

fn compare<'m>(code: &Code<'m, '_>, kind: Kind, [a, b]: [&Operand; 2]) -> Result<Vec<Value<'m>>> {
    let (a, b) = (code.operand(a, kind)?, code.operand(b, kind)?);
    let pairs = code.lanes(a, kind).into_iter().zip(code.lanes(b, kind));
    pairs.map(|(a, b)| test(code, kind.lane(), a, b)).collect()
}

fn test<'m>(code: &Code<'m, '_>, kind: Kind, a: Value<'m>, b: Value<'m>) -> Result<Value<'m>> {
    let name = code.instruction.modifiers.first();
    let name = name.map_or("", String::as_str);
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
            _ => return code.unknown(),
        };
        let side = |value| float::widen(code, float::flushed(code, value, kind), kind);
        return Ok(code.builder.compare_floats(predicate, side(a), side(b)));
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
        _ => return code.unknown(),
    };
    Ok(code.builder.compare(predicate, a, b))
}
