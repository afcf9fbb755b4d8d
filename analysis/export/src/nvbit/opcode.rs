//! Operation and memory space of a SASS opcode.

use superstep_trace::Op;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Global {
        op: Op,
        width_bytes: u32,
        /// The opcode does not name a memory space, so the address might not be in global memory.
        generic: bool,
    },
    /// Shared, local or constant memory.
    OtherMemory,
    Unknown,
}

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

/// Finds the operation in modifiers such as `ADD`, which is `atomic_add` in captures.
fn atomic(modifiers: &[&str]) -> Op {
    let is_named = |op: &Op| {
        let name = op.name().trim_start_matches("atomic_");
        (modifiers.iter()).any(|modifier| modifier.eq_ignore_ascii_case(name))
    };
    let mut atomics = Op::ALL.into_iter().filter(|op| op.reads() && op.writes());
    atomics.find(is_named).unwrap_or(Op::AtomicOther)
}

fn width_bytes(modifiers: &[&str]) -> u32 {
    let parse = |modifier: &&str| {
        Some(match *modifier {
            "U8" | "S8" => 1,
            "U16" | "S16" | "F16" | "BF16" => 2,
            "64" | "U64" | "S64" | "F64" => 8,
            "128" => 16,
            "256" => 32,
            _ => return None,
        })
    };
    modifiers.iter().find_map(parse).unwrap_or(4)
}

#[cfg(test)]
mod tests;
