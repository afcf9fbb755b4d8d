//! Inline PTX: what it does to memory, read from its text.

use crate::ir::Value;
use crate::operation::{MemoryOperation, Width};
use superstep_trace::Op;

/// The accesses that a piece of inline PTX makes to global or generic addresses; `None` when its text does something
/// to memory that is not understood.
///
/// Understood: statements without memory operands, operations on shared, local, parameter and constant space, and `ld`,
/// `st`, `atom`, `red` on `.global` or generic addresses given as `[$n]` or `[$n+constant]`, outside predicates.
pub fn memory_operations(
    call: Value,
    template: &str,
    constraints: &str,
) -> Option<Vec<MemoryOperation>> {
    let outputs = constraints
        .split(',')
        .filter(|c| c.starts_with('='))
        .count();
    let mut found = Vec::new();
    let scope = |c: char| c == '{' || c == '}' || c.is_whitespace();
    for statement in template
        .split([';', '\n'])
        .map(|s| s.trim_start_matches(scope).trim())
        .filter(|s| !s.is_empty())
    {
        let Some(access) = parse(statement)? else {
            continue;
        };
        // `$n` counts results first. An address with an offset would need arithmetic of ours: none is in CUDA's headers.
        let argument = access.operand.checked_sub(outputs)?;
        let pointer = *call.arguments().get(argument)?;
        found.push(MemoryOperation {
            pointer,
            op: access.op,
            width: Width::Fixed(access.width_bytes),
        });
    }
    Some(found)
}

#[derive(Debug, PartialEq, Eq)]
struct Access {
    op: Op,
    width_bytes: u32,
    operand: usize,
}

/// One PTX statement: `None` not understood, `Some(None)` no access to global memory, else the access.
fn parse(statement: &str) -> Option<Option<Access>> {
    let (mnemonic, operands) = statement
        .split_once(char::is_whitespace)
        .unwrap_or((statement, ""));
    if !operands.contains('[') {
        return Some(None);
    }
    let mut parts = mnemonic.split('.');
    let base = parts.next()?;
    let modifiers: Vec<&str> = parts.collect();
    let harmless = [
        "prefetch",
        "prefetchu",
        "mbarrier",
        "mov",
        "cvta",
        "discard",
        "applypriority",
    ];
    let elsewhere = [
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "param",
        "param::entry",
        "param::func",
        "const",
    ];
    if harmless.contains(&base) || modifiers.iter().any(|m| elsewhere.contains(m)) && base != "cp" {
        return Some(None);
    }
    let op = match base {
        "ld" | "ldu" => Op::Load,
        "st" => Op::Store,
        "atom" | "red" => modifiers
            .iter()
            .find_map(|m| atomic(m))
            .unwrap_or(Op::AtomicOther),
        _ => return None,
    };
    let vector = modifiers
        .iter()
        .find_map(|m| m.strip_prefix('v')?.parse::<u32>().ok())
        .unwrap_or(1);
    let bits = modifiers.iter().rev().find_map(|m| type_bits(m))?;
    let inside = operands.split_once('[')?.1.split_once(']')?.0.trim();
    let operand = inside.strip_prefix('$')?.parse().ok()?;
    Some(Some(Access {
        op,
        width_bytes: vector * bits / 8,
        operand,
    }))
}

/// Bits of a PTX type such as `f32` or `b128`.
fn type_bits(modifier: &str) -> Option<u32> {
    match modifier {
        "f16x2" | "bf16x2" => Some(32),
        "bf16" => Some(16),
        _ => modifier
            .strip_prefix(['b', 'u', 's', 'f'])?
            .parse()
            .ok()
            .filter(|bits| [8, 16, 32, 64, 128].contains(bits)),
    }
}

fn atomic(modifier: &str) -> Option<Op> {
    Some(match modifier {
        "add" => Op::AtomicAdd,
        "exch" => Op::AtomicExch,
        "min" => Op::AtomicMin,
        "max" => Op::AtomicMax,
        "inc" => Op::AtomicInc,
        "dec" => Op::AtomicDec,
        "cas" => Op::AtomicCas,
        "and" => Op::AtomicAnd,
        "or" => Op::AtomicOr,
        "xor" => Op::AtomicXor,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(op: Op, width_bytes: u32, operand: usize) -> Option<Option<Access>> {
        Some(Some(Access {
            op,
            width_bytes,
            operand,
        }))
    }

    #[test]
    fn global_and_generic_operations_are_read() {
        assert_eq!(parse("ld.global.cg.f32 $0, [$1]"), access(Op::Load, 4, 1));
        assert_eq!(
            parse("ld.global.nc.v4.f32 {$0,$1,$2,$3}, [$4]"),
            access(Op::Load, 16, 4)
        );
        assert_eq!(parse("st.v2.u64 [$0], {$1,$2}"), access(Op::Store, 16, 0));
        assert_eq!(
            parse("atom.global.gpu.cas.b64 $0, [$1], $2, $3"),
            access(Op::AtomicCas, 8, 1)
        );
        assert_eq!(
            parse("red.add.noftz.bf16x2 [$0], $1"),
            access(Op::AtomicAdd, 4, 0)
        );
    }

    #[test]
    fn other_spaces_and_plain_arithmetic_are_no_accesses() {
        assert_eq!(parse("mov.u32 $0, %smid"), Some(None));
        assert_eq!(parse("ld.shared.f32 $0, [$1]"), Some(None));
        assert_eq!(parse("mad.lo.cc.u32 $0, $2, $3, $4"), Some(None));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        assert_eq!(parse("@p ld.global.f32 $0, [$1]"), None, "predicated");
        assert_eq!(parse("ld.global.f32 $0, [$1+4]"), None, "offset");
        assert_eq!(
            parse("cp.async.bulk.shared::cluster.global [$0], [$1], $2"),
            None,
            "bulk copy"
        );
    }
}
