//! Integer arithmetic and bit operations.

use super::Code;
use crate::ir::Opcode::{self, *};
use crate::ir::{IntPredicate::*, Type, Value, traits::*};
use crate::ptx::{Class, Kind, Operand, Register};
use anyhow::Result;

pub fn build(code: &mut Code) -> Result<()> {
    let (kind, _) = code.kinds()?;
    let to = code.to()?;
    let result = match code.instruction.opcode.as_str() {
        "add" | "addc" | "sub" | "subc" if kind.lanes == 1 => sum(code, kind)?,
        "mul" | "mad" | "madc" => product(code, kind)?,
        "mul24" | "mad24" => product24(code, kind)?,
        "shl" | "shr" => shift(code, kind)?,
        "div" | "rem" => quotient(code, kind)?,
        "and" | "or" | "xor" | "not" | "cnot" | "neg" | "abs" | "min" | "max" | "sad" | "add"
        | "sub" => code.map_lanes(&code.inputs(kind)?, kind, |inputs| {
            elementwise(code, kind.lane(), inputs)
        })?,
        "lop3" => return logic(code, kind),
        _ => support(code, kind)?,
    };
    code.define(to, result, kind.is_signed())
}

fn elementwise<'m>(code: &Code<'m, '_>, kind: Kind, inputs: &[Value<'m>]) -> Result<Value<'m>> {
    let zero = code.number(kind.bits, 0);
    let all = code.number(kind.bits, u64::MAX);
    let builder = &code.builder;
    Ok(match (code.instruction.opcode.as_str(), inputs) {
        ("and", &[a, b]) => builder.binary(And, a, b),
        ("or", &[a, b]) => builder.binary(Or, a, b),
        ("xor", &[a, b]) => builder.binary(Xor, a, b),
        ("add", &[a, b]) => builder.binary(Add, a, b),
        ("sub", &[a, b]) => builder.binary(Sub, a, b),
        ("not", &[a]) => builder.binary(Xor, a, all),
        ("cnot", &[a]) => {
            let is_zero = builder.compare(EQ, a, zero);
            builder.select(is_zero, code.number(kind.bits, 1), zero)
        }
        ("neg", &[a]) => builder.binary(Sub, zero, a),
        ("abs", &[a]) => {
            let negative = builder.compare(SLT, a, zero);
            builder.select(negative, builder.binary(Sub, zero, a), a)
        }
        ("min" | "max", &[a, b]) => {
            let chosen = code.choose(code.instruction.opcode == "max", kind, a, b);
            if code.has("relu") {
                code.choose(true, kind, chosen, zero)
            } else {
                chosen
            }
        }
        ("sad", &[a, b, c]) => {
            let greater = code.choose(true, kind, a, b);
            let smaller = code.choose(false, kind, a, b);
            builder.binary(Add, c, builder.binary(Sub, greater, smaller))
        }
        _ => return code.unknown(),
    })
}

impl<'m> Code<'m, '_> {
    fn choose(&self, greater: bool, kind: Kind, a: Value<'m>, b: Value<'m>) -> Value<'m> {
        let predicate = match (greater, kind.is_signed()) {
            (false, false) => ULT,
            (false, true) => SLT,
            (true, false) => UGT,
            (true, true) => SGT,
        };
        let is_first = self.builder.compare(predicate, a, b);
        self.builder.select(is_first, a, b)
    }

    /// Saturates a wide signed number to the range of `kind`, and truncates it to the width of `kind`.
    pub fn saturate(&self, wide: Value<'m>, kind: Kind) -> Value<'m> {
        let bits = wide.ty().scalar_bits();
        let is_signed = kind.is_signed();
        let max = u64::MAX >> (64 + u32::from(is_signed) - kind.bits);
        let min = if is_signed { !max } else { 0 };
        // Constants have at most 64 bits, so the bounds are extended.
        let bound = |value| self.integer(self.number(64.min(bits), value), bits, is_signed);
        let signed = Kind::new(Class::Signed, bits);
        let clamped = self.choose(true, signed, wide, bound(min));
        let clamped = self.choose(false, signed, clamped, bound(max));
        self.integer(clamped, kind.bits, false)
    }

    fn saturating(&self, operation: Opcode, [a, b]: [Value<'m>; 2], kind: Kind) -> Value<'m> {
        let wide = |value| self.integer(value, 2 * kind.bits, true);
        self.saturate(self.binary(operation, wide(a), wide(b)), kind)
    }

    /// Adds or subtracts, with saturation, carry-in and carry-out where the instruction has them.
    fn accumulate(&mut self, kind: Kind, operation: Opcode, [a, b]: [Value<'m>; 2]) -> Value<'m> {
        if self.has("sat") {
            return self.saturating(operation, [a, b], kind);
        }
        let carries = self.has("cc");
        let bits = if carries { 2 * kind.bits } else { kind.bits };
        let (a, b) = (self.integer(a, bits, false), self.integer(b, bits, false));
        let mut sum = self.binary(operation, a, b);
        if self.instruction.opcode.ends_with('c') {
            let carry = self.integer(self.read(Register::Carry), bits, false);
            sum = self.binary(operation, sum, carry);
        }
        if carries {
            let high = self.binary(LShr, sum, self.number(bits, u64::from(kind.bits)));
            let carry = self.integer(high, 1, false);
            self.write(Register::Carry, carry);
        }
        self.integer(sum, kind.bits, false)
    }
}

fn sum<'m>(code: &mut Code<'m, '_>, kind: Kind) -> Result<Value<'m>> {
    let inputs = *code.exactly(&code.inputs(kind)?)?;
    let subtracts = code.instruction.opcode.starts_with("sub");
    let operation = if subtracts { Sub } else { Add };
    Ok(code.accumulate(kind, operation, inputs))
}

/// Multiplies, selects the high or low half or the whole product, and adds the optional addend.
fn product<'m>(code: &mut Code<'m, '_>, kind: Kind) -> Result<Value<'m>> {
    let ([_, a, b], rest) = code.first_operands()?;
    let (a, b) = (code.operand(a, kind)?, code.operand(b, kind)?);
    let wide_bits = 2 * kind.bits;
    let extended = |value| code.integer(value, wide_bits, kind.is_signed());
    let wide = || code.binary(Mul, extended(a), extended(b));
    let (product, kind) = if code.has("wide") {
        let bits = wide_bits;
        (wide(), Kind { bits, ..kind })
    } else if code.has("hi") {
        let amount = code.number(wide_bits, u64::from(kind.bits));
        let high = code.binary(LShr, wide(), amount);
        (code.integer(high, kind.bits, false), kind)
    } else if code.has("lo") {
        (code.binary(Mul, a, b), kind)
    } else {
        return code.unknown();
    };
    let terms = match rest {
        [] => return Ok(product),
        [addend] => [product, code.operand(addend, kind)?],
        _ => return code.unknown(),
    };
    Ok(code.accumulate(kind, Add, terms))
}

fn product24<'m>(code: &Code<'m, '_>, kind: Kind) -> Result<Value<'m>> {
    let inputs = code.inputs(kind)?;
    let ([a, b], rest) = code.known(inputs.split_first_chunk())?;
    let narrow = |value| {
        let low = code.integer(value, 24, false);
        code.integer(low, 64, kind.is_signed())
    };
    let product = code.binary(Mul, narrow(*a), narrow(*b));
    let from = if code.has("hi") { 16 } else { 0 };
    let product = code.binary(LShr, product, code.number(64, from));
    let product = code.integer(product, 32, false);
    match *rest {
        [] => Ok(product),
        [c] if code.has("sat") => Ok(code.saturating(Add, [product, c], kind)),
        [c] => Ok(code.binary(Add, product, c)),
        _ => code.unknown(),
    }
}

/// Shifts; amounts of at least the width give 0 or copies of the sign bit.
fn shift<'m>(code: &Code<'m, '_>, kind: Kind) -> Result<Value<'m>> {
    let [_, value, amount] = code.exactly(&code.instruction.operands)?;
    let value = code.operand(value, kind)?;
    let amount = code.operand(amount, Kind::U32)?;
    let width = code.number(32, u64::from(kind.bits));
    let below = code.builder.compare(ULT, amount, width);
    let amount = code.integer(amount, kind.bits, false);
    let is_left = code.instruction.opcode == "shl";
    if kind.is_signed() && !is_left {
        let last = code.number(kind.bits, u64::from(kind.bits - 1));
        let bounded = code.builder.select(below, amount, last);
        return Ok(code.binary(AShr, value, bounded));
    }
    let shifted = code.binary(if is_left { Shl } else { LShr }, value, amount);
    let zero = code.number(kind.bits, 0);
    Ok(code.builder.select(below, shifted, zero))
}

/// Divides; division by zero sets all bits of the quotient and the remainder, as on a GPU.
fn quotient<'m>(code: &Code<'m, '_>, kind: Kind) -> Result<Value<'m>> {
    let &[a, b] = code.exactly(&code.inputs(kind)?)?;
    let is_zero = code.builder.compare(EQ, b, code.number(kind.bits, 0));
    let divisor = code.builder.select(is_zero, code.number(kind.bits, 1), b);
    let divides = code.instruction.opcode == "div";
    let result = if kind.is_signed() {
        // Divide at twice the width, so that the quotient of the smallest number and -1 fits.
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

/// Builds `lop3`, a bitwise function of three inputs whose truth table is an operand. The instruction can also test
/// whether the result is nonzero.
fn logic(code: &mut Code, kind: Kind) -> Result<()> {
    let ([to, inputs @ .., table], rest) = code.first_operands::<5>()?;
    let table = code.known(code.operand(table, Kind::U32)?.constant_integer())?;
    let &[a, b, c] = code.exactly(&code.values(inputs, kind)?)?;
    let all = code.number(kind.bits, u64::MAX);
    let zero = code.number(kind.bits, 0);
    let mut result = zero;
    for row in (0..8).filter(|row| table >> row & 1 == 1) {
        let literal = |value, bit: u32| match row >> bit & 1 {
            1 => value,
            _ => code.binary(Xor, value, all),
        };
        let pair = code.binary(And, literal(a, 2), literal(b, 1));
        let term = code.binary(And, pair, literal(c, 0));
        result = code.binary(Or, result, term);
    }
    match (to, rest) {
        (Operand::Pair(to, predicate), [with]) => {
            let with = code.operand(with, Kind::PREDICATE)?;
            let is_set = code.builder.compare(NE, result, zero);
            let operation = if code.has("or") { Or } else { And };
            let combined = code.binary(operation, is_set, with);
            code.define(to, result, false)?;
            code.define(predicate, combined, false)
        }
        (to, []) => code.define(to, result, false),
        _ => code.unknown(),
    }
}

/// Calls the support-library function of the same name.
fn support<'m>(code: &Code<'m, '_>, kind: Kind) -> Result<Value<'m>> {
    let word = Kind::U32;
    let (result, inputs): (Kind, &[Kind]) = match code.instruction.opcode.as_str() {
        "popc" | "clz" | "bfind" => (word, &[kind]),
        "brev" => (kind, &[kind]),
        "fns" | "prmt" | "shf" | "dp4a" | "dp2a" => (word, &[word, word, word]),
        "bfe" => (kind, &[kind, word, word]),
        "bfi" => (kind, &[kind, kind, word, word]),
        "bmsk" | "szext" => (word, &[word, word]),
        _ => return code.unknown(),
    };
    let operands = &code.instruction.operands[1..];
    code.require(operands.len() == inputs.len())?;
    let values = operands.iter().zip(inputs);
    let values = values.map(|(operand, kind)| code.operand(operand, *kind));
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok(code.same_named_function(Type::int(result.bits), &values))
}
