//! Inline PTX of several statements without jumps, as libdevice and CUDA's headers write it: registers that come and go, pairs
//! taken apart and put together, 32-bit arithmetic with carries, and single instructions, each a function of the support library.

use super::intrinsics::PTX_PREFIX;
use crate::ir::{Builder, Call, Module, Opcode, Type, Value};
use std::collections::HashMap;

/// Replaces a call of inline assembly made only of such statements; `false` (and no change that matters: what was built
/// is dead) when one of them is something else.
pub fn lower<'m>(module: &'m Module, call: Call<'m>, template: &str) -> bool {
    let Some(statements) = parse(template) else {
        return false;
    };
    // What stands alone has other ways to go, but for arithmetic and pairs.
    let alone = !template.trim_start().starts_with('{');
    if call.ty().is_void() || alone && statements.iter().any(Statement::is_instruction) {
        return false;
    }
    let mut code = Code {
        module,
        builder: Builder::before(*call),
        registers: HashMap::new(),
        carry: None,
    };
    let Some(result) = code.result(call, &statements) else {
        return false;
    };
    call.replace_all_uses_with(result);
    call.erase();
    true
}

/// One statement, its operands by name.
#[derive(Debug, PartialEq, Eq)]
enum Statement<'a> {
    /// `mov.b32 {low, high}, whole`
    TakeApart([&'a str; 2], &'a str, Type),
    /// `mov.b32 whole, {low, high}`
    PutTogether(&'a str, [&'a str; 2], Type),
    /// `mov.b32 to, from`
    Move(&'a str, &'a str, Type),
    /// `selp.u16 to, then, otherwise, condition`
    Select(&'a str, [&'a str; 3], Type),
    /// `mad.lo.cc.u32 to, factor, factor, more` and the like: the mnemonic's parts, the result and the inputs.
    Arithmetic(Vec<&'a str>, &'a str, Vec<&'a str>),
    /// Anything else: the mnemonic, the result and its type, the inputs and theirs.
    Instruction(String, &'a str, Type, Vec<&'a str>, Type),
}

impl Statement<'_> {
    fn is_instruction(&self) -> bool {
        matches!(
            self,
            Self::Move(..) | Self::Select(..) | Self::Instruction(..)
        )
    }
}

/// The statements of a template, declarations left out; `None` when one is not understood.
fn parse(template: &str) -> Option<Vec<Statement<'_>>> {
    // Braces of scopes stand where a statement begins, those of pairs do not.
    let scope = |c: char| c.is_whitespace() || c == '{' || c == '}';
    let statements = template.split(';').map(|s| s.trim_start_matches(scope));
    statements
        .map(str::trim)
        .filter(|statement| !statement.is_empty() && !statement.starts_with(".reg"))
        .map(parse_statement)
        .collect()
}

fn parse_statement(statement: &str) -> Option<Statement<'_>> {
    let (mnemonic, operands) = statement.split_once(char::is_whitespace)?;
    let operands = split(operands);
    let parts: Vec<&str> = mnemonic.split('.').collect();
    let types: Vec<Type> = parts.iter().filter_map(|part| kind(part)).collect();
    let (&last, &first) = (types.last()?, types.first()?);
    Some(match (parts[0], operands.as_slice()) {
        ("mov", [to, from]) => match (pair(to), pair(from)) {
            (Some(halves), None) => Statement::TakeApart(halves, plain(from)?, last),
            (None, Some(halves)) => Statement::PutTogether(plain(to)?, halves, last),
            _ => Statement::Move(plain(to)?, plain(from)?, last),
        },
        ("selp", [to, then, otherwise, condition]) => {
            let inputs = [plain(then)?, plain(otherwise)?, plain(condition)?];
            Statement::Select(plain(to)?, inputs, last)
        }
        ("ld" | "st" | "atom" | "red" | "bar" | "shfl" | "vote" | "mul24", _) => return None,
        (_, [to, inputs @ ..]) if !inputs.is_empty() => {
            let (to, inputs) = (plain(to)?, inputs.iter().map(|text| plain(text)));
            let inputs: Vec<&str> = inputs.collect::<Option<_>>()?;
            if is_arithmetic(&parts, inputs.len()) {
                return Some(Statement::Arithmetic(parts, to, inputs));
            }
            let is_test = parts[0] == "setp";
            let result = if is_test { Type::int(1) } else { first };
            Statement::Instruction(mnemonic.replace('.', "_"), to, result, inputs, last)
        }
        _ => return None,
    })
}

/// Whether a mnemonic is one of 32-bit integers of which the carry may be asked for, with so many inputs.
fn is_arithmetic(parts: &[&str], inputs: usize) -> bool {
    let half = matches!(parts.get(1), Some(&("lo" | "hi")));
    let known = match parts[0] {
        "add" | "addc" | "sub" | "subc" => inputs == 2,
        "mul" => half && inputs == 2,
        "mad" | "madc" => half && inputs == 3,
        _ => false,
    };
    known && matches!(parts.last(), Some(&("u32" | "s32" | "b32")))
}

/// Operands at the commas that stand outside braces.
fn split(operands: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = operands.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

/// How a C function takes a value of a PTX type; `None` for a word that is no type.
fn kind(word: &str) -> Option<Type> {
    Some(match word {
        "f16" | "bf16" | "b16" | "u16" | "s16" => Type::int(16),
        "f16x2" | "bf16x2" | "b32" | "u32" | "s32" => Type::int(32),
        "b64" | "u64" | "s64" => Type::int(64),
        "f32" => Type::float(),
        "f64" => Type::double(),
        _ => return None,
    })
}

/// A register, an operand or a number.
fn plain(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    (!text.is_empty() && text.chars().all(is_part)).then_some(text)
}

fn pair(text: &str) -> Option<[&str; 2]> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let (low, high) = inner.split_once(',')?;
    Some([plain(low.trim())?, plain(high.trim())?])
}

/// An integer literal: decimal or hexadecimal, `U` at its end.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['U', 'u']);
    match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
        None => digits.parse().ok(),
    }
}

struct Code<'m> {
    module: &'m Module,
    builder: Builder<'m>,
    registers: HashMap<String, Value<'m>>,
    /// The carry (or borrow) as 0 or 1 of 64 bits.
    carry: Option<Value<'m>>,
}

impl<'m> Code<'m> {
    /// Builds the statements, and what the call gives; `None` when registers are not what the statements take.
    fn result(&mut self, call: Call<'m>, statements: &[Statement]) -> Option<Value<'m>> {
        let is_struct = call.ty().is_struct();
        let results = match is_struct {
            true => call.ty().members(),
            false => vec![call.ty()],
        };
        for (index, argument) in (results.len()..).zip(call.arguments()) {
            self.define(&format!("${index}"), argument);
        }
        statements.iter().try_for_each(|s| self.run(s))?;
        let result = |index: usize, ty| self.operand(&format!("${index}"), ty);
        if !is_struct {
            return result(0, call.ty());
        }
        let values = results.iter().enumerate().map(|(i, ty)| result(i, *ty));
        let values: Vec<Value> = values.collect::<Option<_>>()?;
        let whole = (0..).zip(values).fold(call.ty().undef(), |whole, (i, v)| {
            self.builder.insert(whole, v, i)
        });
        Some(whole)
    }

    fn run(&mut self, statement: &Statement) -> Option<()> {
        use Opcode::{LLVMLShr, LLVMOr, LLVMShl, LLVMTrunc, LLVMZExt};
        match statement {
            Statement::TakeApart([low, high], whole, ty) => {
                let (whole, half) = (self.operand(whole, *ty)?, half_of(*ty)?);
                let upper = self.shift(LLVMLShr, whole);
                self.define(low, self.builder.cast(LLVMTrunc, whole, half));
                self.define(high, self.builder.cast(LLVMTrunc, upper, half));
            }
            Statement::PutTogether(whole, [low, high], ty) => {
                let half = |name: &str| {
                    let half = self.operand(name, half_of(*ty)?)?;
                    Some(self.builder.cast(LLVMZExt, half, *ty))
                };
                let (low, high) = (half(low)?, half(high)?);
                let both = self.builder.binary(LLVMOr, low, self.shift(LLVMShl, high));
                self.define(whole, both);
            }
            Statement::Move(to, from, ty) => self.define(to, self.operand(from, *ty)?),
            Statement::Select(to, [then, otherwise, condition], ty) => {
                let (then, otherwise) = (self.operand(then, *ty)?, self.operand(otherwise, *ty)?);
                let condition = self.operand(condition, Type::int(1))?;
                self.define(to, self.builder.select(condition, then, otherwise));
            }
            Statement::Arithmetic(parts, to, inputs) => {
                let wide = self.arithmetic(parts, inputs)?;
                let narrow = self.builder.cast(LLVMTrunc, wide, Type::int(32));
                self.define(to, narrow);
            }
            Statement::Instruction(name, to, result, inputs, ty) => {
                let inputs = inputs.iter().map(|name| self.operand(name, *ty));
                let inputs: Vec<Value> = inputs.collect::<Option<_>>()?;
                let signature = result.function(&vec![*ty; inputs.len()]);
                let name = format!("{PTX_PREFIX}{name}");
                let function = self.module.declare(&name, signature);
                self.define(to, self.builder.call(function, &inputs).value());
            }
        }
        Some(())
    }

    /// A sum, a difference, or half of a product, in the low half of 64 bits.
    fn arithmetic(&mut self, parts: &[&str], inputs: &[&str]) -> Option<Value<'m>> {
        use Opcode::{LLVMAdd, LLVMAnd, LLVMLShr, LLVMMul, LLVMSExt, LLVMSub, LLVMZExt};
        let extended = |code: &Self, name: &str, extension| {
            let value = code.operand(name, Type::int(32))?;
            Some(code.builder.cast(extension, value, Type::int(64)))
        };
        let masked = |code: &Self, value, mask: u32| {
            let mask = Type::int(64).constant(mask.into());
            code.builder.binary(LLVMAnd, value, mask)
        };
        let base = parts[0];
        let opcode = if base.starts_with("sub") {
            LLVMSub
        } else {
            LLVMAdd
        };
        // Only the upper half of a product depends on the signs.
        let signed_half = parts[1] == "hi" && parts.last() == Some(&"s32");
        let extension = if signed_half { LLVMSExt } else { LLVMZExt };
        let left = extended(self, inputs[0], extension)?;
        let right = extended(self, inputs[1], extension)?;
        let mut wide = match (base.starts_with('m'), parts[1]) {
            (false, _) => self.builder.binary(opcode, left, right),
            (true, "hi") => self.shift(LLVMLShr, self.builder.binary(LLVMMul, left, right)),
            (true, _) => masked(self, self.builder.binary(LLVMMul, left, right), u32::MAX),
        };
        if let Some(more) = inputs.get(2) {
            wide = self
                .builder
                .binary(opcode, wide, extended(self, more, LLVMZExt)?);
        }
        if base.ends_with('c') {
            wide = self.builder.binary(opcode, wide, self.carry?);
        }
        if parts.contains(&"cc") {
            self.carry = Some(masked(self, self.shift(LLVMLShr, wide), 1));
        }
        Some(wide)
    }

    /// Shifts an integer by half of its bits.
    fn shift(&self, shift: Opcode, value: Value<'m>) -> Value<'m> {
        let half = value.ty().constant(u64::from(value.ty().scalar_bits() / 2));
        self.builder.binary(shift, value, half)
    }

    /// What a register holds, or a literal, as a value of type `ty`: a register has bits, instructions give them a type.
    fn operand(&self, name: &str, ty: Type) -> Option<Value<'m>> {
        let bits = |ty: Type| self.module.store_size_bytes(ty);
        match self.registers.get(name) {
            Some(value) if value.ty() == ty => Some(*value),
            Some(value) if bits(value.ty()) == bits(ty) && value.ty() != Type::int(1) => {
                Some(self.builder.cast(Opcode::LLVMBitCast, *value, ty))
            }
            Some(_) => None,
            None if ty.is_integer() => Some(ty.constant(number(name)?)),
            None => {
                let literal = Type::int(8 * bits(ty) as u32).constant(number(name)?);
                Some(self.builder.cast(Opcode::LLVMBitCast, literal, ty))
            }
        }
    }

    fn define(&mut self, register: &str, value: Value<'m>) {
        self.registers.insert(register.to_owned(), value);
    }
}

/// The type of each of two halves.
fn half_of(whole: Type) -> Option<Type> {
    let is_wide = whole.is_integer() && whole.scalar_bits() >= 32;
    is_wide.then(|| Type::int(whole.scalar_bits() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_the_half_precision_header_are_read() {
        let (i1t, i16t, i32t) = (Type::int(1), Type::int(16), Type::int(32));
        let text = "{.reg .f16 low,high;\n  mov.b32 {low,high},$1;\n  cvt.f32.f16 $0, low;}\n";
        let (name, to) = ("cvt_f32_f16".into(), "$0");
        let expected = [
            Statement::TakeApart(["low", "high"], "$1", i32t),
            Statement::Instruction(name, to, Type::float(), vec!["low"], i16t),
        ];
        assert_eq!(parse(text).unwrap(), expected);
        let text = "{ .reg .pred __$temp3;\n  setp.eq.f16  __$temp3, $1, $2;\n  selp.u16 $0, 1, 0, __$temp3;}";
        let (name, to) = ("setp_eq_f16".into(), "__$temp3");
        let expected = [
            Statement::Instruction(name, to, i1t, vec!["$1", "$2"], i16t),
            Statement::Select("$0", ["1", "0", "__$temp3"], i16t),
        ];
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn what_waits_or_touches_memory_is_none() {
        for text in [
            "ld.global.b16 $0, [$1];",
            "{atom.add.noftz.f16 $0,[$1],$2; }",
            "@p mov.b32 $0, $1;",
            "bar.sync 0;",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn literals() {
        assert_eq!(
            (number("0X32B3U"), number("1"), number("low")),
            (Some(0x32b3), Some(1), None)
        );
    }

    #[test]
    fn braces_keep_their_commas() {
        assert_eq!(split("{a, b}, $2"), ["{a, b}", "$2"]);
        assert_eq!(split(" r1, alo, blo,  r1"), ["r1", "alo", "blo", "r1"]);
    }
}
