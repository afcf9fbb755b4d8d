//! Inline PTX for wide integers: straight-line 32-bit arithmetic with carries, as libdevice writes 64- and 128-bit
//! products, sums and differences.

use crate::ir::{Builder, Call, Opcode, Type, Value};
use std::collections::HashMap;

/// Replaces a call of inline assembly made only of such statements; `false` (and no change that matters: what was built
/// is dead) when one of them is something else.
pub fn lower(call: Call, template: &str) -> bool {
    let results = if call.ty().is_struct() {
        call.ty().members().len()
    } else {
        usize::from(!call.ty().is_void())
    };
    let mut code = Code {
        builder: Builder::before(*call),
        registers: HashMap::new(),
        carry: None,
    };
    for (index, argument) in call.arguments().into_iter().enumerate() {
        code.registers
            .insert(format!("${}", results + index), argument);
    }
    let inner = template
        .trim()
        .trim_start_matches('{')
        .trim_end_matches('}');
    for statement in inner
        .split(';')
        .map(str::trim)
        .filter(|s| !s.is_empty() && !s.starts_with(".reg"))
    {
        if code.statement(statement).is_none() {
            return false;
        }
    }
    let values: Option<Vec<Value>> = (0..results)
        .map(|i| code.registers.get(&format!("${i}")).copied())
        .collect();
    let Some(values) = values else { return false };
    let result = match values[..] {
        [] => return false,
        [value] if !call.ty().is_struct() => value,
        _ => values
            .iter()
            .enumerate()
            .fold(call.ty().undef(), |whole, (i, v)| {
                code.builder.insert(whole, *v, i as u32)
            }),
    };
    if result.ty() != call.ty() {
        return false;
    }
    call.replace_all_uses_with(result);
    call.erase();
    true
}

struct Code<'m> {
    builder: Builder<'m>,
    registers: HashMap<String, Value<'m>>,
    /// The carry (or borrow) as 0 or 1 of 64 bits.
    carry: Option<Value<'m>>,
}

impl<'m> Code<'m> {
    fn statement(&mut self, statement: &str) -> Option<()> {
        let (mnemonic, operands) = statement.split_once(char::is_whitespace)?;
        let operands = split(operands);
        let parts: Vec<&str> = mnemonic.split('.').collect();
        if parts == ["mov", "b64"] {
            return self.move_pair(&operands);
        }
        let (operation, modifiers) = parts.split_first()?;
        if !matches!(*modifiers.last()?, "u32" | "s32" | "b32") {
            return None;
        }
        let (with_carry, operation) = match *operation {
            "addc" | "subc" | "madc" => (true, &operation[..3]),
            plain => (false, plain),
        };
        let value = |text: &str| self.operand(text);
        let (destination, inputs) = operands.split_first()?;
        let (minuend, rest) = match (operation, inputs) {
            ("add" | "sub", [a, b]) => (value(a)?, value(b)?),
            ("mul", [a, b]) => {
                let product = self.half_product(value(a)?, value(b)?, modifiers)?;
                self.define(destination, product);
                return Some(());
            }
            ("mad", [a, b, c]) => (
                self.half_product(value(a)?, value(b)?, modifiers)?,
                value(c)?,
            ),
            _ => return None,
        };
        let opcode = if operation == "sub" {
            Opcode::LLVMSub
        } else {
            Opcode::LLVMAdd
        };
        let mut wide = self.builder.binary(opcode, minuend, rest);
        if with_carry {
            wide = self.builder.binary(opcode, wide, self.carry?);
        }
        if modifiers.contains(&"cc") {
            let shifted = self.with_constant(Opcode::LLVMLShr, wide, 32);
            self.carry = Some(self.with_constant(Opcode::LLVMAnd, shifted, 1));
        }
        self.define(destination, wide);
        Some(())
    }

    /// The low or high half of a product, as 64 bits.
    fn half_product(
        &self,
        left: Value<'m>,
        right: Value<'m>,
        modifiers: &[&str],
    ) -> Option<Value<'m>> {
        let product = self.builder.binary(Opcode::LLVMMul, left, right);
        match modifiers.first() {
            Some(&"hi") => Some(self.with_constant(Opcode::LLVMLShr, product, 32)),
            Some(&"lo") => Some(self.with_constant(Opcode::LLVMAnd, product, u32::MAX.into())),
            _ => None,
        }
    }

    fn with_constant(&self, operation: Opcode, value: Value<'m>, constant: u64) -> Value<'m> {
        let constant = Type::int(64).constant(constant);
        self.builder.binary(operation, value, constant)
    }

    /// `mov.b64 {low,high}, $n` and `mov.b64 $n, {low,high}`.
    fn move_pair(&mut self, operands: &[String]) -> Option<()> {
        let [destination, source] = operands else {
            return None;
        };
        let pair = |text: &str| {
            let inner = text.strip_prefix('{')?.strip_suffix('}')?;
            let (low, high) = inner.split_once(',')?;
            Some((low.trim().to_owned(), high.trim().to_owned()))
        };
        if let Some((low, high)) = pair(destination) {
            let whole = *self.registers.get(source)?;
            if whole.ty() != Type::int(64) {
                return None;
            }
            let upper = self.with_constant(Opcode::LLVMLShr, whole, 32);
            self.define(&low, whole);
            self.define(&high, upper);
        } else {
            let (low, high) = pair(source)?;
            let (low, high) = (self.operand(&low)?, self.operand(&high)?);
            let shifted = self.with_constant(Opcode::LLVMShl, high, 32);
            let whole = self.builder.binary(Opcode::LLVMOr, low, shifted);
            self.registers.insert(destination.clone(), whole);
        }
        Some(())
    }

    /// A 32-bit operand, extended with zeroes to 64 bits.
    fn operand(&self, text: &str) -> Option<Value<'m>> {
        if let Ok(number) = text.parse::<u32>() {
            return Some(Type::int(64).constant(u64::from(number)));
        }
        let value = *self.registers.get(text)?;
        let extended = || self.builder.cast(Opcode::LLVMZExt, value, Type::int(64));
        (value.ty() == Type::int(32)).then(extended)
    }

    /// Sets a register to the low 32 bits of `wide`.
    fn define(&mut self, register: &str, wide: Value<'m>) {
        let narrow = self.builder.cast(Opcode::LLVMTrunc, wide, Type::int(32));
        self.registers.insert(register.to_owned(), narrow);
    }
}

/// Operands at the commas that stand outside braces.
pub(super) fn split(operands: &str) -> Vec<String> {
    let (mut list, mut depth) = (vec![String::new()], 0);
    for character in operands.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                list.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = list.last_mut() {
            last.push(character);
        }
    }
    list.iter()
        .map(|operand| operand.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn braces_keep_their_commas() {
        assert_eq!(super::split("{a, b}, $2"), ["{a, b}", "$2"]);
        assert_eq!(
            super::split(" r1, alo, blo,  r1"),
            ["r1", "alo", "blo", "r1"]
        );
    }
}
