//! PTX types.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    Bits,
    Unsigned,
    Signed,
    Float,
    /// bfloat16
    Brain,
    Predicate,
}

const CLASSES: [(&str, Class); 5] = [
    ("b", Class::Bits),
    ("u", Class::Unsigned),
    ("s", Class::Signed),
    ("f", Class::Float),
    ("bf", Class::Brain),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    pub class: Class,
    pub bits: u32,
    pub lanes: u32,
}

impl Kind {
    pub const U32: Kind = Kind::new(Class::Unsigned, 32);
    pub const U64: Kind = Kind::new(Class::Unsigned, 64);
    pub const PREDICATE: Kind = Kind::new(Class::Predicate, 1);

    pub const fn new(class: Class, bits: u32) -> Self {
        Kind {
            class,
            bits,
            lanes: 1,
        }
    }

    pub fn of(word: &str) -> Option<Self> {
        let (scalar, lanes) = match word.split_once('x') {
            Some((scalar, lanes)) => (scalar, lanes.parse().ok()?),
            None => (word, 1),
        };
        let digits = scalar.find(|c: char| c.is_ascii_digit());
        let (class, bits) = scalar.split_at(digits.unwrap_or(scalar.len()));
        if class == "pred" {
            return Some(Kind::PREDICATE);
        }
        let (_, class) = *CLASSES.iter().find(|(name, _)| *name == class)?;
        let bits: u32 = bits.parse().ok()?;
        let kind = Kind { class, bits, lanes };
        let min_bits = if kind.is_float() { 16 } else { 8 };
        let is_known = [8, 16, 32, 64, 128].contains(&bits) && bits >= min_bits;
        (is_known && [1, 2, 4].contains(&lanes)).then_some(kind)
    }

    pub fn is_float(self) -> bool {
        matches!(self.class, Class::Float | Class::Brain)
    }

    pub fn is_signed(self) -> bool {
        self.class == Class::Signed
    }

    pub fn register_bits(self) -> u32 {
        self.bits * self.lanes
    }

    pub fn lane(self) -> Self {
        Kind { lanes: 1, ..self }
    }

    pub fn name(self) -> String {
        let class = CLASSES.iter().find(|(_, class)| *class == self.class);
        let Some((class, _)) = class else {
            return "pred".to_owned();
        };
        match self.lanes {
            1 => format!("{class}{}", self.bits),
            lanes => format!("{class}{}x{lanes}", self.bits),
        }
    }
}

#[cfg(test)]
mod tests;
