//! Operations of memory instructions, numbered as in Rieber 2017, table 5.1.

crate::named! {
    /// Operation of a memory instruction.
    ///
    /// The numbers 1–13 are those of Rieber 2017, table 5.1; [`Op::AtomicOther`] covers the rest (such as
    /// floating-point minimum).
    #[repr(u8)]
    pub enum Op("operation") {
        Load = 1 => "load",
        Store = 2 => "store",
        AtomicAdd = 3 => "atomic_add",
        AtomicSub = 4 => "atomic_sub",
        AtomicExch = 5 => "atomic_exch",
        AtomicMin = 6 => "atomic_min",
        AtomicMax = 7 => "atomic_max",
        AtomicInc = 8 => "atomic_inc",
        AtomicDec = 9 => "atomic_dec",
        AtomicCas = 10 => "atomic_cas",
        AtomicAnd = 11 => "atomic_and",
        AtomicOr = 12 => "atomic_or",
        AtomicXor = 13 => "atomic_xor",
        AtomicOther = 14 => "atomic_other",
    }
}

impl Op {
    pub const fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    pub const fn reads(self) -> bool {
        !matches!(self, Op::Store)
    }

    pub const fn writes(self) -> bool {
        !matches!(self, Op::Load)
    }
}

#[cfg(test)]
mod tests;
