//! Arithmetic of integers, and operations on bits.

use super::Code;
use crate::ir::{
    IntPredicate::*,
    Opcode::{self, *},
    Type, Value,
    traits::*,
};
use crate::ptx::{Class, Instruction, Kind, Operand, Register};
use anyhow::Result;

pub fn build(code: &mut Code, instruction: &Instruction) -> Result<()> {
    let Some(&kind) = instruction.kinds().first() else {
        return code.unknown(instruction);
    };
    let [to, ..] = &instruction.operands[..] else {
        return code.unknown(instruction);
    };
    let result = match instruction.opcode.as_str() {
        "add" | "addc" | "sub" | "subc" if kind.lanes == 1 => sum(code, instruction, kind)?,
        "mul" | "mad" | "madc" => product(code, instruction, kind)?,
        "mul24" | "mad24" => product24(code, instruction, kind)?,
        "shl" | "shr" => shift(code, instruction, kind)?,
        "div" | "rem" => quotient(code, instruction, kind)?,
        "and" | "or" | "xor" | "not" | "cnot" | "neg" | "abs" | "min" | "max" | "sad" | "add"
        | "sub" => {
            let inputs = code.inputs(instruction, kind)?;
            code.map_lanes(&inputs, kind, |code, inputs| {
                plain(code, instruction, kind.lane(), inputs)
            })?
        }
        "lop3" => return logic(code, instruction, kind),
        _ => support(code, instruction, kind)?,
    };
    code.define(to, result, kind.is_signed())
}

/// What LLVM has for two numbers, or can be made of that at once.
fn plain<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
    inputs: &[Value<'m>],
) -> Result<Value<'m>> {
    let zero = code.number(kind.bits, 0);
    let all = code.number(kind.bits, u64::MAX);
    let builder = &code.builder;
    Ok(match (instruction.opcode.as_str(), inputs) {
        ("and", [a, b]) => builder.binary(And, *a, *b),
        ("or", [a, b]) => builder.binary(Or, *a, *b),
        ("xor", [a, b]) => builder.binary(Xor, *a, *b),
        ("add", [a, b]) => builder.binary(Add, *a, *b),
        ("sub", [a, b]) => builder.binary(Sub, *a, *b),
        ("not", [a]) => builder.binary(Xor, *a, all),
        ("cnot", [a]) => {
            let is_zero = builder.compare(EQ, *a, zero);
            builder.select(is_zero, code.number(kind.bits, 1), zero)
        }
        ("neg", [a]) => builder.binary(Sub, zero, *a),
        ("abs", [a]) => {
            let negative = builder.compare(SLT, *a, zero);
            builder.select(negative, builder.binary(Sub, zero, *a), *a)
        }
        ("min" | "max", [a, b]) => {
            let chosen = choose(code, instruction.opcode == "max", kind, *a, *b);
            if instruction.has("relu") {
                choose(code, true, kind, chosen, zero)
            } else {
                chosen
            }
        }
        ("sad", [a, b, c]) => {
            let more = choose(code, true, kind, *a, *b);
            let less = choose(code, false, kind, *a, *b);
            builder.binary(Add, *c, builder.binary(Sub, more, less))
        }
        _ => return code.unknown(instruction),
    })
}

/// The lesser or the greater of two numbers.
pub fn choose<'m>(
    code: &Code<'m, '_>,
    greater: bool,
    kind: Kind,
    a: Value<'m>,
    b: Value<'m>,
) -> Value<'m> {
    let predicate = match (greater, kind.is_signed()) {
        (false, false) => ULT,
        (false, true) => SLT,
        (true, false) => UGT,
        (true, true) => SGT,
    };
    let takes_first = code.builder.compare(predicate, a, b);
    code.builder.select(takes_first, a, b)
}

/// A wide signed number, kept within what `kind` can hold, with the bits of `kind`.
pub fn saturate<'m>(code: &Code<'m, '_>, wide: Value<'m>, kind: Kind) -> Value<'m> {
    let bits = wide.ty().scalar_bits();
    let (least, most) = match kind.is_signed() {
        true => (
            (-1i64 << (kind.bits - 1)) as u64,
            u64::MAX >> (65 - kind.bits),
        ),
        false => (0, u64::MAX >> (64 - kind.bits)),
    };
    // As signed numbers of 64 bits at most, which are extended.
    let bound = |value: u64| code.integer(code.number(64.min(bits), value), bits, kind.is_signed());
    let signed = Kind::new(Class::Signed, bits);
    let limited = choose(code, true, signed, wide, bound(least));
    let limited = choose(code, false, signed, limited, bound(most));
    code.integer(limited, kind.bits, false)
}

/// A sum or a difference, which may take a carry and give one.
fn sum<'m>(code: &mut Code<'m, '_>, instruction: &Instruction, kind: Kind) -> Result<Value<'m>> {
    let inputs = code.inputs(instruction, kind)?;
    let [a, b] = inputs[..] else {
        return code.unknown(instruction);
    };
    let subtracts = instruction.opcode.starts_with("sub");
    let operation = if subtracts { Sub } else { Add };
    if instruction.has("sat") {
        let wide = |value| code.integer(value, 2 * kind.bits, true);
        let sum = code.binary(operation, wide(a), wide(b));
        return Ok(saturate(code, sum, kind));
    }
    let takes = instruction.opcode.ends_with('c');
    with_carry(code, instruction, kind, operation, &[a, b], takes)
}

/// Adds or subtracts all inputs and the carry, and notes the carry if asked for.
fn with_carry<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
    operation: Opcode,
    inputs: &[Value<'m>],
    takes: bool,
) -> Result<Value<'m>> {
    let gives = instruction.has("cc");
    let bits = if gives { 2 * kind.bits } else { kind.bits };
    let mut sum = code.integer(inputs[0], bits, false);
    for input in &inputs[1..] {
        sum = code.binary(operation, sum, code.integer(*input, bits, false));
    }
    if takes {
        let carry = code.integer(code.read(Register::Carry), bits, false);
        sum = code.binary(operation, sum, carry);
    }
    if gives {
        let above = code.binary(LShr, sum, code.number(bits, u64::from(kind.bits)));
        let carry = code.integer(above, 1, false);
        code.write(Register::Carry, carry);
    }
    Ok(code.integer(sum, kind.bits, false))
}

/// Half of a product or all of it, and what is added.
fn product<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
) -> Result<Value<'m>> {
    let [_, a, b, rest @ ..] = &instruction.operands[..] else {
        return code.unknown(instruction);
    };
    let (a, b) = (code.operand(a, kind)?, code.operand(b, kind)?);
    let wide_kind = Kind {
        bits: 2 * kind.bits,
        ..kind
    };
    let extended = |value| code.integer(value, 2 * kind.bits, kind.is_signed());
    let wide = || code.binary(Mul, extended(a), extended(b));
    let (product, kind) = if instruction.has("wide") {
        (wide(), wide_kind)
    } else if instruction.has("hi") {
        let amount = code.number(2 * kind.bits, u64::from(kind.bits));
        let high = code.binary(LShr, wide(), amount);
        (code.integer(high, kind.bits, false), kind)
    } else if instruction.has("lo") {
        (code.binary(Mul, a, b), kind)
    } else {
        return code.unknown(instruction);
    };
    match rest {
        [] => Ok(product),
        [c] => {
            let c = code.operand(c, kind)?;
            if instruction.has("sat") {
                let wide = |value| code.integer(value, 2 * kind.bits, true);
                let sum = code.binary(Add, wide(product), wide(c));
                return Ok(saturate(code, sum, kind));
            }
            let takes = instruction.opcode == "madc";
            with_carry(code, instruction, kind, Add, &[product, c], takes)
        }
        _ => code.unknown(instruction),
    }
}

/// A product of numbers of 24 bits: its lower 32 bits, or those from bit 16 on.
fn product24<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
) -> Result<Value<'m>> {
    let inputs = code.inputs(instruction, kind)?;
    let [a, b, rest @ ..] = &inputs[..] else {
        return code.unknown(instruction);
    };
    let narrow = |value| {
        let low = code.integer(value, 24, false);
        code.integer(low, 64, kind.is_signed())
    };
    let product = code.binary(Mul, narrow(*a), narrow(*b));
    let from = if instruction.has("hi") { 16 } else { 0 };
    let product = code.binary(LShr, product, code.number(64, from));
    let product = code.integer(product, 32, false);
    match rest {
        [] => Ok(product),
        [c] if instruction.has("sat") => {
            let wide = |value| code.integer(value, 64, true);
            let sum = code.binary(Add, wide(product), wide(*c));
            Ok(saturate(code, sum, kind))
        }
        [c] => Ok(code.binary(Add, product, *c)),
        _ => code.unknown(instruction),
    }
}

/// Beyond the width a shift gives zeros, or the sign.
fn shift<'m>(code: &mut Code<'m, '_>, instruction: &Instruction, kind: Kind) -> Result<Value<'m>> {
    let [_, value, amount] = &instruction.operands[..] else {
        return code.unknown(instruction);
    };
    let value = code.operand(value, kind)?;
    let amount = code.operand(amount, Kind::U32)?;
    let below = code
        .builder
        .compare(ULT, amount, code.number(32, u64::from(kind.bits)));
    let amount = code.integer(amount, kind.bits, false);
    if kind.is_signed() && instruction.opcode == "shr" {
        let last = code.number(kind.bits, u64::from(kind.bits - 1));
        let bounded = code.builder.select(below, amount, last);
        return Ok(code.binary(AShr, value, bounded));
    }
    let operation = match instruction.opcode.as_str() {
        "shl" => Shl,
        _ => LShr,
    };
    let shifted = code.binary(operation, value, amount);
    Ok(code
        .builder
        .select(below, shifted, code.number(kind.bits, 0)))
}

/// A GPU divides by zero without complaint: all bits of the quotient, and of the remainder, are set.
fn quotient<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
) -> Result<Value<'m>> {
    let inputs = code.inputs(instruction, kind)?;
    let [a, b] = inputs[..] else {
        return code.unknown(instruction);
    };
    let is_zero = code.builder.compare(EQ, b, code.number(kind.bits, 0));
    let divisor = code.builder.select(is_zero, code.number(kind.bits, 1), b);
    let divides = instruction.opcode == "div";
    let result = if kind.is_signed() {
        // Twice as wide, so that the quotient of the least number and -1 fits.
        let wide = |value| code.integer(value, 2 * kind.bits, true);
        let operation = if divides { SDiv } else { SRem };
        let result = code.binary(operation, wide(a), wide(divisor));
        code.integer(result, kind.bits, false)
    } else {
        let operation = if divides { UDiv } else { URem };
        code.binary(operation, a, divisor)
    };
    let all_ones = code.number(kind.bits, u64::MAX);
    Ok(code.builder.select(is_zero, all_ones, result))
}

/// `lop3`: any function of three bits, as its table of eight says; with a predicate, whether the result is not zero, too.
fn logic(code: &mut Code, instruction: &Instruction, kind: Kind) -> Result<()> {
    let (to, inputs) = (&instruction.operands[0], &instruction.operands[1..]);
    let [a, b, c, table, rest @ ..] = inputs else {
        return code.unknown(instruction);
    };
    let table = match table {
        Operand::Integer(table) => *table,
        Operand::Register(register) => {
            let argument = code.argument(*register);
            match argument.and_then(|value| value.constant_integer()) {
                Some(table) => table,
                None => return code.unknown(instruction),
            }
        }
        _ => return code.unknown(instruction),
    };
    let (a, b, c) = (
        code.operand(a, kind)?,
        code.operand(b, kind)?,
        code.operand(c, kind)?,
    );
    let all = code.number(kind.bits, u64::MAX);
    let mut result = code.number(kind.bits, 0);
    for row in (0..8).filter(|row| table >> row & 1 == 1) {
        let literal = |value, bit: u32| match row >> bit & 1 {
            1 => value,
            _ => code.binary(Xor, value, all),
        };
        let both = code.binary(And, literal(a, 2), literal(b, 1));
        let term = code.binary(And, both, literal(c, 0));
        result = code.binary(Or, result, term);
    }
    match (to, rest) {
        (Operand::Both(to, predicate), [with]) => {
            let with = code.operand(with, Kind::PREDICATE)?;
            let zero = code.number(kind.bits, 0);
            let is_set = code.builder.compare(NE, result, zero);
            let operation = if instruction.has("or") { Or } else { And };
            let holds = code.binary(operation, is_set, with);
            code.define(to, result, false)?;
            code.define(predicate, holds, false)
        }
        (to, []) => code.define(to, result, false),
        _ => code.unknown(instruction),
    }
}

/// What C computes: a function that has the instruction's name.
fn support<'m>(
    code: &mut Code<'m, '_>,
    instruction: &Instruction,
    kind: Kind,
) -> Result<Value<'m>> {
    let word = Kind::U32;
    let (result, inputs): (Kind, &[Kind]) = match instruction.opcode.as_str() {
        "popc" | "clz" | "bfind" => (word, &[kind]),
        "brev" => (kind, &[kind]),
        "fns" => (word, &[word, word, word]),
        "bfe" => (kind, &[kind, word, word]),
        "bfi" => (kind, &[kind, kind, word, word]),
        "bmsk" | "szext" => (word, &[word, word]),
        "prmt" | "shf" | "dp4a" | "dp2a" => (word, &[word, word, word]),
        _ => return code.unknown(instruction),
    };
    let operands = &instruction.operands[1..];
    if operands.len() != inputs.len() {
        return code.unknown(instruction);
    }
    let operands = operands.iter().zip(inputs);
    let values: Vec<Value> = operands
        .map(|(operand, kind)| code.operand(operand, *kind))
        .collect::<Result<_>>()?;
    let name = instruction.mnemonic().replace('.', "_");
    Ok(code.support(&name, Type::int(result.bits), &values))
}
