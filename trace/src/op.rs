//! What a memory instruction does, numbered as in Rieber 2017, table 5.1.

use serde::{Deserialize, Serialize};

/// Operation of a site.
///
/// The numbers 1–13 are those of Rieber 2017, table 5.1; [`Op::AtomicOther`] is ours (floating-point minimum and the like).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Op {
    Load = 1,
    Store = 2,
    AtomicAdd = 3,
    AtomicSub = 4,
    AtomicExch = 5,
    AtomicMin = 6,
    AtomicMax = 7,
    AtomicInc = 8,
    AtomicDec = 9,
    AtomicCas = 10,
    AtomicAnd = 11,
    AtomicOr = 12,
    AtomicXor = 13,
    AtomicOther = 14,
}

impl Op {
    /// Every operation, in the order of their numbers.
    pub const ALL: [Op; 14] = [
        Op::Load,
        Op::Store,
        Op::AtomicAdd,
        Op::AtomicSub,
        Op::AtomicExch,
        Op::AtomicMin,
        Op::AtomicMax,
        Op::AtomicInc,
        Op::AtomicDec,
        Op::AtomicCas,
        Op::AtomicAnd,
        Op::AtomicOr,
        Op::AtomicXor,
        Op::AtomicOther,
    ];

    /// The operation's number, 1–14.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The operation with the number `code`, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Whether the operation reads and writes in one step.
    pub const fn is_atomic(self) -> bool {
        !matches!(self, Op::Load | Op::Store)
    }

    /// Whether memory is read: loads and atomics.
    pub const fn reads(self) -> bool {
        !matches!(self, Op::Store)
    }

    /// Whether memory is written: stores and atomics.
    pub const fn writes(self) -> bool {
        !matches!(self, Op::Load)
    }

    /// The name used in tables and JSON, `atomic_add` for instance.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Load => "load",
            Op::Store => "store",
            Op::AtomicAdd => "atomic_add",
            Op::AtomicSub => "atomic_sub",
            Op::AtomicExch => "atomic_exch",
            Op::AtomicMin => "atomic_min",
            Op::AtomicMax => "atomic_max",
            Op::AtomicInc => "atomic_inc",
            Op::AtomicDec => "atomic_dec",
            Op::AtomicCas => "atomic_cas",
            Op::AtomicAnd => "atomic_and",
            Op::AtomicOr => "atomic_or",
            Op::AtomicXor => "atomic_xor",
            Op::AtomicOther => "atomic_other",
        }
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Op;

    #[test]
    fn codes_and_names_agree() {
        for (index, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(op.code()), index + 1);
            assert_eq!(Op::from_code(op.code()), Some(op));
            assert_eq!(serde_json::to_string(&op).unwrap(), format!("\"{op}\""));
        }
        assert_eq!(Op::from_code(0), None);
        assert_eq!(Op::from_code(15), None);
    }

    #[test]
    fn atomics_read_and_write() {
        assert!(Op::AtomicCas.reads() && Op::AtomicCas.writes() && Op::AtomicCas.is_atomic());
        assert!(Op::Load.reads() && !Op::Load.writes() && !Op::Load.is_atomic());
        assert!(!Op::Store.reads() && Op::Store.writes());
    }
}
