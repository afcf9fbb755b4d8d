//! Inline PTX of several statements without jumps, as CUDA's half-precision header writes it: registers that come and go,
//! pairs taken apart and put together, and in between single instructions, each a function of the support library.

use super::intrinsics::PTX_PREFIX;
use crate::ir::{Builder, Call, Module, Opcode, Type, Value};
use std::collections::HashMap;

/// Replaces a call of inline assembly made only of such statements; `false` (and no change that matters: what was built
/// is dead) when one of them is something else.
pub fn lower<'m>(module: &'m Module, call: Call<'m>, template: &str) -> bool {
    if call.ty().is_void() || call.ty().is_struct() {
        return false;
    }
    let Some(statements) = parse(template) else {
        return false;
    };
    // What is read has to be defined before, or given; an operand that is result and input at once is not.
    let given = 1..=call.arguments().len();
    let mut defined: Vec<String> = given.map(|index| format!("${index}")).collect();
    for statement in &statements {
        if !statement
            .inputs()
            .all(|name| number(name).is_some() || defined.iter().any(|d| d == name))
        {
            return false;
        }
        defined.extend(statement.outputs().map(str::to_owned));
    }
    if !defined.iter().any(|name| name == "$0") {
        return false;
    }
    let mut code = Code {
        module,
        builder: Builder::before(*call),
        registers: HashMap::new(),
    };
    for (index, argument) in call.arguments().into_iter().enumerate() {
        code.registers.insert(format!("${}", index + 1), argument);
    }
    if !statements.iter().all(|s| code.run(s).is_some()) {
        return false;
    }
    let Some(result) = code.operand("$0", call.ty()) else {
        return false;
    };
    call.replace_all_uses_with(result);
    call.erase();
    true
}

/// One statement, its operands by name.
#[derive(Debug, PartialEq, Eq)]
enum Statement {
    /// `mov.b32 {low, high}, whole`
    TakeApart([String; 2], String),
    /// `mov.b32 whole, {low, high}`
    PutTogether(String, [String; 2]),
    /// `mov.b32 to, from`
    Move(String, String, &'static str),
    /// `selp.u16 to, then, otherwise, condition`
    Select(String, [String; 3], &'static str),
    /// Anything else: the mnemonic, the result and its type, the inputs and theirs.
    Instruction(String, String, &'static str, Vec<String>, &'static str),
}

impl Statement {
    fn inputs(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::TakeApart(_, whole) | Self::Move(_, whole, _) => {
                Box::new(std::iter::once(whole.as_str()))
            }
            Self::PutTogether(_, halves) => Box::new(halves.iter().map(String::as_str)),
            Self::Select(_, inputs, _) => Box::new(inputs.iter().map(String::as_str)),
            Self::Instruction(_, _, _, inputs, _) => Box::new(inputs.iter().map(String::as_str)),
        }
    }

    fn outputs(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::TakeApart(halves, _) => Box::new(halves.iter().map(String::as_str)),
            Self::PutTogether(to, _)
            | Self::Move(to, ..)
            | Self::Select(to, ..)
            | Self::Instruction(_, to, ..) => Box::new(std::iter::once(to.as_str())),
        }
    }
}

/// The statements of a template, declarations left out; `None` when one is not understood.
fn parse(template: &str) -> Option<Vec<Statement>> {
    let mut statements = Vec::new();
    for piece in template.split(';') {
        // Braces of scopes stand where a statement begins, those of pairs do not.
        let statement =
            piece.trim_start_matches(|c: char| c.is_whitespace() || c == '{' || c == '}');
        let statement = statement.trim();
        if statement.is_empty() || statement.starts_with(".reg") {
            continue;
        }
        let (mnemonic, operands) = statement.split_once(char::is_whitespace)?;
        let operands = super::carry::split(operands);
        let parts: Vec<&str> = mnemonic.split('.').collect();
        let types: Vec<&'static str> = parts.iter().filter_map(|part| kind(part)).collect();
        let (&last, &first) = (types.last()?, types.first()?);
        let named = |text: &String| plain(text).then(|| text.clone());
        statements.push(match (parts[0], operands.as_slice()) {
            ("mov", [to, from])
                if last == "i32" && (pair(to).is_some() || pair(from).is_some()) =>
            {
                match (pair(to), pair(from)) {
                    (Some(halves), None) => Statement::TakeApart(halves, named(from)?),
                    (None, Some(halves)) => Statement::PutTogether(named(to)?, halves),
                    _ => return None,
                }
            }
            ("mov", [to, from]) => Statement::Move(named(to)?, named(from)?, last),
            ("selp", [to, then, otherwise, condition]) => Statement::Select(
                named(to)?,
                [named(then)?, named(otherwise)?, named(condition)?],
                last,
            ),
            ("ld" | "st" | "atom" | "red" | "bar" | "shfl" | "vote" | "mul24", _) => return None,
            (operation, [to, inputs @ ..]) if !inputs.is_empty() => {
                let result = if operation == "setp" { "i1" } else { first };
                let inputs = inputs.iter().map(named).collect::<Option<_>>()?;
                Statement::Instruction(mnemonic.replace('.', "_"), named(to)?, result, inputs, last)
            }
            _ => return None,
        });
    }
    Some(statements)
}

/// How a C function takes a value of a PTX type; `None` for a word that is no type.
fn kind(word: &str) -> Option<&'static str> {
    Some(match word {
        "f16" | "bf16" | "b16" | "u16" | "s16" => "i16",
        "f16x2" | "bf16x2" | "b32" | "u32" | "s32" => "i32",
        "b64" | "u64" | "s64" => "i64",
        "f32" => "float",
        "f64" => "double",
        _ => return None,
    })
}

/// A register, an operand or a number.
fn plain(text: &str) -> bool {
    !text.is_empty() && (text.chars()).all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
}

fn pair(text: &str) -> Option<[String; 2]> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let (low, high) = inner.split_once(',')?;
    let (low, high) = (low.trim().to_owned(), high.trim().to_owned());
    (plain(&low) && plain(&high)).then_some([low, high])
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
}

impl<'m> Code<'m> {
    /// Builds one statement; `None` when a register does not have as many bits as the statement takes.
    fn run(&mut self, statement: &Statement) -> Option<()> {
        let (i16t, i32t, shift) = (Type::int(16), Type::int(32), Type::int(32).constant(16));
        match statement {
            Statement::TakeApart([low, high], whole) => {
                let whole = self.operand(whole, i32t)?;
                let upper = self.builder.binary(Opcode::LLVMLShr, whole, shift);
                self.define(low, self.builder.cast(Opcode::LLVMTrunc, whole, i16t));
                self.define(high, self.builder.cast(Opcode::LLVMTrunc, upper, i16t));
            }
            Statement::PutTogether(whole, [low, high]) => {
                let half = |name: &String| {
                    let half = self.operand(name, i16t)?;
                    Some(self.builder.cast(Opcode::LLVMZExt, half, i32t))
                };
                let upper = self.builder.binary(Opcode::LLVMShl, half(high)?, shift);
                let both = self.builder.binary(Opcode::LLVMOr, half(low)?, upper);
                self.define(whole, both);
            }
            Statement::Move(to, from, ty) => self.define(to, self.operand(from, self.ty(ty))?),
            Statement::Select(to, [then, otherwise, condition], ty) => {
                let (ty, bit) = (self.ty(ty), Type::int(1));
                let (then, otherwise) = (self.operand(then, ty)?, self.operand(otherwise, ty)?);
                let condition = self.operand(condition, bit)?;
                self.define(to, self.builder.select(condition, then, otherwise));
            }
            Statement::Instruction(name, to, result, inputs, ty) => {
                let ty = self.ty(ty);
                let inputs = inputs.iter().map(|name| self.operand(name, ty));
                let inputs: Vec<Value> = inputs.collect::<Option<_>>()?;
                let signature = self.ty(result).function(&vec![ty; inputs.len()]);
                let name = format!("{PTX_PREFIX}{name}");
                let function = self.module.declare(&name, signature);
                self.define(to, self.builder.call(function, &inputs).value());
            }
        }
        Some(())
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

    fn ty(&self, kind: &str) -> Type {
        match kind {
            "i1" => Type::int(1),
            "i16" => Type::int(16),
            "i64" => Type::int(64),
            "float" => Type::float(),
            "double" => Type::double(),
            _ => Type::int(32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn statements_of_the_half_precision_header_are_read() {
        let text = "{.reg .f16 low,high;\n  mov.b32 {low,high},$1;\n  cvt.f32.f16 $0, low;}\n";
        let expected = [
            Statement::TakeApart(["low".into(), "high".into()], "$1".into()),
            Statement::Instruction(
                "cvt_f32_f16".into(),
                "$0".into(),
                "float",
                names(&["low"]),
                "i16",
            ),
        ];
        assert_eq!(parse(text).unwrap(), expected);
        let text = "{ .reg .pred __$temp3;\n  setp.eq.f16  __$temp3, $1, $2;\n  selp.u16 $0, 1, 0, __$temp3;}";
        let expected = [
            Statement::Instruction(
                "setp_eq_f16".into(),
                "__$temp3".into(),
                "i1",
                names(&["$1", "$2"]),
                "i16",
            ),
            Statement::Select(
                "$0".into(),
                ["1".into(), "0".into(), "__$temp3".into()],
                "i16",
            ),
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
}
