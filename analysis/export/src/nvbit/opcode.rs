//! What a SASS opcode does to which memory.

use superstep_trace::Op;

/// Meaning of an opcode for a trace of global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It accesses global memory; `generic`: or any other, the opcode does not say.
    Global {
        op: Op,
        width_bytes: u32,
        /// Whether the address may lie in other memory.
        generic: bool,
    },
    /// It accesses shared, local or constant memory.
    OtherMemory,
    Unknown,
}

/// Meaning of `opcode`, such as `LDG.E.64.CONSTANT`.
pub fn meaning(opcode: &str) -> Meaning {
    let mut parts = opcode.split('.');
    let base = parts.next().unwrap_or_default();
    let modifiers: Vec<&str> = parts.collect();
    let (op, generic) = match base {
        "LDG" | "LDGSTS" => (Op::Load, false),
        "STG" => (Op::Store, false),
        "LD" => (Op::Load, true),
        "ST" => (Op::Store, true),
        "ATOMG" | "RED" | "REDG" => (atomic(&modifiers), false),
        "ATOM" => (atomic(&modifiers), true),
        "LDS" | "STS" | "LDL" | "STL" | "LDC" | "LDCU" | "LDSM" | "STSM" | "ATOMS"
        | "LDGDEPBAR" => {
            return Meaning::OtherMemory;
        }
        _ => return Meaning::Unknown,
    };
    Meaning::Global {
        op,
        width_bytes: width_bytes(&modifiers),
        generic,
    }
}

fn atomic(modifiers: &[&str]) -> Op {
    let named = |modifier: &&str| {
        Some(match *modifier {
            "ADD" => Op::AtomicAdd,
            "EXCH" => Op::AtomicExch,
            "MIN" => Op::AtomicMin,
            "MAX" => Op::AtomicMax,
            "INC" => Op::AtomicInc,
            "DEC" => Op::AtomicDec,
            "CAS" => Op::AtomicCas,
            "AND" => Op::AtomicAnd,
            "OR" => Op::AtomicOr,
            "XOR" => Op::AtomicXor,
            _ => return None,
        })
    };
    modifiers.iter().find_map(named).unwrap_or(Op::AtomicOther)
}

fn width_bytes(modifiers: &[&str]) -> u32 {
    let named = |modifier: &&str| {
        Some(match *modifier {
            "U8" | "S8" => 1,
            "U16" | "S16" => 2,
            "F16" | "BF16" => 2,
            "64" | "U64" | "S64" | "F64" => 8,
            "128" => 16,
            "256" => 32,
            _ => return None,
        })
    };
    modifiers.iter().find_map(named).unwrap_or(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(opcode: &str) -> Option<(Op, u32, bool)> {
        match meaning(opcode) {
            Meaning::Global {
                op,
                width_bytes,
                generic,
            } => Some((op, width_bytes, generic)),
            _ => None,
        }
    }

    #[test]
    fn opcodes_of_global_memory() {
        assert_eq!(global("LDG.E"), Some((Op::Load, 4, false)));
        assert_eq!(global("LDG.E.64.CONSTANT"), Some((Op::Load, 8, false)));
        assert_eq!(global("LDG.E.U8.CONSTANT"), Some((Op::Load, 1, false)));
        assert_eq!(global("STG.E.128"), Some((Op::Store, 16, false)));
        assert_eq!(global("LDGSTS.E.BYPASS.128"), Some((Op::Load, 16, false)));
        assert_eq!(
            global("RED.E.ADD.F32.FTZ.RN.STRONG.GPU"),
            Some((Op::AtomicAdd, 4, false))
        );
        assert_eq!(
            global("ATOMG.E.CAS.64.STRONG.GPU"),
            Some((Op::AtomicCas, 8, false))
        );
        assert_eq!(global("ATOM.E.EXCH"), Some((Op::AtomicExch, 4, true)));
    }

    #[test]
    fn other_memory_is_no_global_memory() {
        for opcode in ["LDS.U.32", "STS", "LDL", "STL.64", "ATOMS.ADD", "LDC"] {
            assert_eq!(meaning(opcode), Meaning::OtherMemory, "{opcode}");
        }
        assert_eq!(meaning("UTMALDG.2D"), Meaning::Unknown);
    }
}
