//! Parses the statements of inline PTX, and resolves registers by scope.

use super::lexer::{Token, tokens};
use super::scopes::Scopes;
use super::types::Kind;
use thiserror::Error;

/// Text near a syntax error.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct SyntaxError(String);

type Result<T> = std::result::Result<T, SyntaxError>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    Argument(usize),
    Declared(usize),
    /// Carry flag, written by `.cc`.
    Carry,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Register(Register),
    /// `!p`
    Not(Register),
    /// Special register, including its `%`.
    Special(String),
    /// Label, variable, or any other name that the template does not declare as a register.
    Name(String),
    Integer(u64),
    /// Bits of a single-precision number.
    Single(u32),
    Double(f64),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `[base + offset]`, possibly with coordinates after a comma.
    Address(Box<Operand>, Box<Operand>, Vec<Operand>),
    /// `d|p`
    Pair(Box<Operand>, Box<Operand>),
    /// `_`
    Sink,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub predicate: Register,
    /// `@!p`
    pub negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    pub guard: Option<Guard>,
    pub opcode: String,
    /// Words after the opcode, separated by dots.
    pub modifiers: Vec<String>,
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// Returns whether the instruction has a modifier; `shared::cta` counts as `shared`.
    pub fn has(&self, word: &str) -> bool {
        let mut modifiers = self.modifiers.iter();
        modifiers.any(|m| m == word || m.split_once("::").is_some_and(|(space, _)| space == word))
    }

    pub fn has_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    pub fn kinds(&self) -> Vec<Kind> {
        let modifiers = self.modifiers.iter();
        modifiers.filter_map(|word| Kind::of(word)).collect()
    }

    pub fn mnemonic(&self) -> String {
        [std::slice::from_ref(&self.opcode), &self.modifiers]
            .concat()
            .join(".")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Label(String),
    Instruction(Instruction),
}

#[derive(Debug, Default)]
pub struct Template {
    pub statements: Vec<Statement>,
    pub declared: Vec<Kind>,
}

impl Template {
    pub fn parse(template: &str) -> Result<Self> {
        let mut parser = Parser {
            tokens: tokens(template),
            at: 0,
            scopes: Scopes::default(),
            result: Template::default(),
        };
        parser.scopes.open();
        while parser.at < parser.tokens.len() {
            parser.statement()?;
        }
        Ok(parser.result)
    }

    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.statements.iter().filter_map(|s| match s {
            Statement::Instruction(instruction) => Some(instruction),
            Statement::Label(_) => None,
        })
    }

    pub fn reads_special(&self, prefix: &str) -> bool {
        let has_prefix = |operand: &Operand| matches!(operand, Operand::Special(name) if name.starts_with(prefix));
        self.instructions()
            .any(|i| i.operands.iter().any(has_prefix))
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    scopes: Scopes,
    result: Template,
}

impl Parser {
    fn require(&self, condition: bool) -> Result<()> {
        if condition { Ok(()) } else { Err(self.error()) }
    }

    fn error(&self) -> SyntaxError {
        let from = self.at.saturating_sub(3);
        let near = self.tokens.iter().skip(from).take(6).map(|t| match t {
            Token::Word(word) => word.clone(),
            Token::Mark(mark) => mark.to_string(),
        });
        SyntaxError(near.collect::<Vec<_>>().join(" "))
    }

    fn take(&mut self, mark: char) -> bool {
        let found = self.tokens.get(self.at) == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        let found = self.take(mark);
        self.require(found)
    }

    fn word(&mut self) -> Result<String> {
        let Some(Token::Word(word)) = self.tokens.get(self.at).cloned() else {
            return Err(self.error());
        };
        self.at += 1;
        Ok(word)
    }

    fn register(&mut self) -> Result<Register> {
        let name = self.word()?;
        (self.scopes.register(&name)).ok_or_else(|| self.error())
    }

    fn statement(&mut self) -> Result<()> {
        if self.take('{') {
            self.scopes.open();
            return Ok(());
        }
        if self.take('}') {
            let is_open = self.scopes.close();
            return self.require(is_open);
        }
        if self.take(';') {
            return Ok(());
        }
        let mut guard = None;
        if self.take('@') {
            let negated = self.take('!');
            let predicate = self.register()?;
            guard = Some(Guard { predicate, negated });
        }
        let word = self.word()?;
        if guard.is_none() && self.take(':') {
            self.result.statements.push(Statement::Label(word));
            return Ok(());
        }
        if let Some(directive) = word.strip_prefix('.') {
            return self.directive(directive);
        }
        let mut modifiers = word.split('.').map(str::to_owned);
        let opcode = modifiers.next().unwrap_or_default();
        let modifiers = modifiers.collect();
        let mut operands = Vec::new();
        if !self.at_end() {
            operands = self.list()?;
        }
        self.require(self.at_end())?;
        let instruction = Instruction {
            guard,
            opcode,
            modifiers,
            operands,
        };
        let statement = Statement::Instruction(instruction);
        self.result.statements.push(statement);
        Ok(())
    }

    /// Returns whether a statement ends here. The last statement needs no semicolon.
    fn at_end(&self) -> bool {
        let next = self.tokens.get(self.at);
        matches!(next, None | Some(Token::Mark(';' | '}')))
    }

    /// Parses `.reg .b32 a, b<4>;` or `.reg .v2 .b32 c;`; ignores debugging directives and hints.
    fn directive(&mut self, directive: &str) -> Result<()> {
        let Some(kind) = directive.strip_prefix("reg") else {
            self.require(["pragma", "loc"].contains(&directive))?;
            while !self.at_end() {
                self.at += 1;
            }
            return Ok(());
        };
        let mut words = kind.to_owned();
        let (kind, count) = loop {
            let mut parts = words.split('.').filter(|part| !part.is_empty());
            let count = match parts.clone().next() {
                Some("v2") => Some(2),
                Some("v4") => Some(4),
                _ => None,
            };
            match parts.nth(usize::from(count.is_some())) {
                Some(kind) => break (Kind::of(kind), count),
                None => words += &self.word()?,
            }
        };
        let kind = kind.ok_or_else(|| self.error())?;
        loop {
            let name = self.word()?;
            if self.take('<') {
                let names = self.word()?;
                let names: usize = names.parse().map_err(|_| self.error())?;
                self.expect('>')?;
                for number in 0..names.min(4096) {
                    self.declare(format!("{name}{number}"), kind, count);
                }
            } else {
                self.declare(name, kind, count);
            }
            if !self.take(',') {
                return Ok(());
            }
        }
    }

    fn declare(&mut self, name: String, kind: Kind, count: Option<usize>) {
        let registers = &mut self.result.declared;
        self.scopes.declare(name, registers.len(), count);
        registers.extend(std::iter::repeat_n(kind, count.unwrap_or(1)));
    }

    /// Parses comma-separated operands.
    fn list(&mut self) -> Result<Vec<Operand>> {
        let mut operands = vec![self.operand()?];
        while self.take(',') {
            operands.push(self.operand()?);
        }
        Ok(operands)
    }

    fn operand(&mut self) -> Result<Operand> {
        let first = self.simple()?;
        if self.take('|') {
            let second = self.simple()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn simple(&mut self) -> Result<Operand> {
        if self.take('{') {
            let elements = self.list()?;
            self.expect('}')?;
            return Ok(Operand::Vector(elements));
        }
        if self.take('[') {
            return self.address();
        }
        if self.take('!') {
            return Ok(Operand::Not(self.register()?));
        }
        if self.take('-') {
            return match self.number()? {
                Operand::Integer(value) => Ok(Operand::Integer(value.wrapping_neg())),
                Operand::Double(value) => Ok(Operand::Double(-value)),
                _ => Err(self.error()),
            };
        }
        if let Some(Token::Word(word)) = self.tokens.get(self.at)
            && word.starts_with(|c: char| c.is_ascii_digit())
        {
            return self.number();
        }
        let word = self.word()?;
        if let Some(vector) = self.scopes.vector(&word) {
            return Ok(vector);
        }
        Ok(match self.scopes.register(&word) {
            Some(register) => Operand::Register(register),
            None if word == "_" => Operand::Sink,
            None if word.starts_with('%') => Operand::Special(word),
            None => Operand::Name(word),
        })
    }

    /// Parses the text after `[`, such as `a`, `a+4`, `a+-4` or `a, {x, y}`.
    fn address(&mut self) -> Result<Operand> {
        let base = self.simple()?;
        let mut offset = Operand::Integer(0);
        // In `[a-4]`, the sign is part of the number.
        if self.take('+') || self.tokens.get(self.at) == Some(&Token::Mark('-')) {
            offset = self.simple()?;
        }
        let mut rest = Vec::new();
        if self.take(',') {
            rest = self.list()?;
        }
        self.expect(']')?;
        Ok(Operand::Address(Box::new(base), Box::new(offset), rest))
    }

    fn number(&mut self) -> Result<Operand> {
        let word = self.word()?;
        literal(&word).ok_or_else(|| self.error())
    }
}

/// Parses `12`, `0x1fU`, `0f3f800000`, `0d3ff0000000000000` or `1.5`.
fn literal(word: &str) -> Option<Operand> {
    let lower = word.to_ascii_lowercase();
    let hexadecimal = |digits: &str, count| {
        let digits = (digits.len() == count).then_some(digits)?;
        u64::from_str_radix(digits, 16).ok()
    };
    if let Some(digits) = lower.strip_prefix("0f") {
        return hexadecimal(digits, 8).map(|bits| Operand::Single(bits as u32));
    }
    if let Some(digits) = lower.strip_prefix("0d") {
        return hexadecimal(digits, 16).map(|bits| Operand::Double(f64::from_bits(bits)));
    }
    if lower.contains('.') {
        return lower.parse().ok().map(Operand::Double);
    }
    let digits = lower.trim_end_matches('u');
    let value = if let Some(digits) = digits.strip_prefix("0x") {
        u64::from_str_radix(digits, 16)
    } else if let Some(digits) = digits.strip_prefix("0b") {
        u64::from_str_radix(digits, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    value.ok().map(Operand::Integer)
}

#[cfg(test)]
mod tests;
