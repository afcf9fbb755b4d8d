//! Names declared in inline PTX.

use super::{Operand, Register};
use std::collections::HashMap;

/// A register, or a vector of `count` consecutive registers.
#[derive(Clone, Copy)]
struct Named {
    first: usize,
    count: Option<usize>,
}

/// Nested scopes, innermost last. The first one is the template itself.
#[derive(Default)]
pub struct Scopes(Vec<HashMap<String, Named>>);

impl Scopes {
    pub fn open(&mut self) {
        self.0.push(HashMap::new());
    }

    /// Closes the innermost scope. Returns `false` if that is the template itself, because of an extra closing brace.
    pub fn close(&mut self) -> bool {
        self.0.len() > 1 && self.0.pop().is_some()
    }

    /// Names the register `first`, or a vector of `count` registers starting at `first`.
    pub fn declare(&mut self, name: String, first: usize, count: Option<usize>) {
        if let Some(scope) = self.0.last_mut() {
            scope.insert(name, Named { first, count });
        }
    }

    fn named(&self, name: &str) -> Option<Named> {
        let mut scopes = self.0.iter().rev();
        scopes.find_map(|scope| scope.get(name)).copied()
    }

    /// Resolves the name of a register; `v.x` is the first register of the vector `v`.
    pub fn register(&self, name: &str) -> Option<Register> {
        if let Some(number) = name.strip_prefix('$') {
            return number.parse().ok().map(Register::Argument);
        }
        let Some((vector, element)) = name.split_once('.') else {
            let named = self.named(name)?;
            return (named.count.is_none()).then_some(Register::Declared(named.first));
        };
        let Named { first, count } = self.named(vector)?;
        let index = match element {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return None,
        };
        (index < count?).then_some(Register::Declared(first + index))
    }

    pub fn vector(&self, name: &str) -> Option<Operand> {
        let Named { first, count } = self.named(name)?;
        let registers = (first..first + count?).map(Register::Declared);
        Some(Operand::Vector(registers.map(Operand::Register).collect()))
    }
}
