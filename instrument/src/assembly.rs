//! Inline PTX: what it does to memory, read from its text.

use crate::ir::Call;
use crate::operation::{Guard, MemoryOperation, Width, named_atomic_op};
use std::collections::HashMap;
use superstep_trace::Op;

/// The accesses that a piece of inline PTX makes to global or generic addresses; `None` when its text does something
/// to memory that is not understood.
///
/// Understood: statements without memory operands, operations on shared, local, parameter and constant space, and `ld`,
/// `st`, `atom`, `red`, `cp.async` and `cp.async.bulk` on `.global` or generic addresses given as `[$n]` or
/// `[$n+constant]`; also behind a predicate that a `setp` of the same text sets by comparing an operand with zero.
pub fn memory_operations<'m>(
    call: Call<'m>,
    template: &str,
    constraints: &str,
) -> Option<Vec<MemoryOperation<'m>>> {
    let constraints = constraints.split(',');
    let outputs = constraints.filter(|c| c.starts_with('=')).count();
    // `$n` counts results first.
    let argument = |operand: usize| {
        let index = operand.checked_sub(outputs)?;
        call.arguments().get(index).copied()
    };
    let mut found = Vec::new();
    let mut predicates: HashMap<&str, (usize, bool)> = HashMap::new();
    let scope = |c: char| c == '{' || c == '}' || c.is_whitespace();
    let statements = template.split([';', '\n']);
    let statements = statements.map(|s| s.trim_start_matches(scope).trim());
    for statement in statements.filter(|s| !s.is_empty()) {
        if let Some((name, operand, zero)) = comparison_with_zero(statement) {
            predicates.insert(name, (operand, zero));
            continue;
        }
        let (predicate, statement) = match statement.strip_prefix('@') {
            Some(guarded) => {
                let (name, rest) = guarded.split_once(char::is_whitespace)?;
                (Some(name), rest.trim())
            }
            None => (None, statement),
        };
        let Some(access) = parse(statement)? else {
            continue;
        };
        let guard = match predicate {
            Some(name) => {
                let positive = name.trim_start_matches('!');
                let (operand, zero) = *predicates.get(positive)?;
                let value = argument(operand).filter(|v| v.ty().is_integer())?;
                let zero = zero != name.starts_with('!');
                Some(Guard { value, zero })
            }
            None => None,
        };
        found.push(MemoryOperation {
            pointer: argument(access.operand)?,
            op: access.op,
            width: match access.bytes {
                Bytes::Fixed(bytes) => Width::Fixed(bytes),
                Bytes::Operand(operand) => Width::Varies(argument(operand)?),
            },
            offset_bytes: access.offset_bytes,
            guard,
            says_global: access.says_global,
        });
    }
    Some(found)
}

/// `setp.ne.b32 p, $n, 0` and the like: the predicate, the operand, and whether the predicate holds for zero.
fn comparison_with_zero(statement: &str) -> Option<(&str, usize, bool)> {
    let (mnemonic, operands) = statement.split_once(char::is_whitespace)?;
    let zero = match mnemonic.strip_prefix("setp.")?.split('.').next()? {
        "ne" => false,
        "eq" => true,
        _ => return None,
    };
    let mut operands = operands.split(',').map(str::trim);
    let (name, operand) = (operands.next()?, operands.next()?);
    let operand = operand.strip_prefix('$')?.parse().ok()?;
    (operands.next() == Some("0") && operands.next().is_none()).then_some((name, operand, zero))
}

#[derive(Debug, PartialEq, Eq)]
struct Access {
    op: Op,
    bytes: Bytes,
    operand: usize,
    offset_bytes: i64,
    says_global: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Bytes {
    Fixed(u32),
    /// As many as this operand says.
    Operand(usize),
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
    let elsewhere = |modifier: &&str| {
        // `shared::cta` is a part of `shared`.
        let space = modifier
            .split_once("::")
            .map_or(*modifier, |(space, _)| space);
        ["shared", "local", "param", "const"].contains(&space)
    };
    let op = match base {
        "cp" => return copy(&modifiers, operands),
        // The last two know shared memory only.
        "prefetch" | "prefetchu" | "mbarrier" | "mov" | "cvta" | "discard" | "applypriority"
        | "ldmatrix" | "stmatrix" => return Some(None),
        _ if modifiers.iter().any(elsewhere) => return Some(None),
        "ld" | "ldu" => Op::Load,
        "st" => Op::Store,
        "atom" | "red" => modifiers
            .iter()
            .find_map(|m| named_atomic_op(m))
            .unwrap_or(Op::AtomicOther),
        _ => return None,
    };
    let vector = |m: &&str| m.strip_prefix('v')?.parse::<u32>().ok();
    let vector = modifiers.iter().find_map(vector).unwrap_or(1);
    let bits = modifiers.iter().rev().find_map(|m| type_bits(m))?;
    let (operand, offset_bytes) = *addresses(operands)?.first()?;
    Some(Some(Access {
        op,
        bytes: Bytes::Fixed(vector * bits / 8),
        operand,
        offset_bytes,
        says_global: modifiers.contains(&"global"),
    }))
}

/// `cp.async` and `cp.async.bulk` between global and shared memory.
fn copy(modifiers: &[&str], operands: &str) -> Option<Option<Access>> {
    let bulk = modifiers.get(1) == Some(&"bulk");
    let unknown = |m: &&str| matches!(*m, "tensor" | "reduce" | "L2");
    if modifiers.first() != Some(&"async") || bulk && modifiers.iter().any(unknown) {
        return match modifiers {
            // Brings lines into the cache: no access of the program's own.
            ["async", "bulk", "prefetch", "L2", ..] => Some(None),
            _ => None,
        };
    }
    // The space that is written stands first.
    let space = modifiers.iter().position(|m| *m == "global")?;
    let from_global = modifiers[..space].iter().any(|m| m.starts_with("shared"));
    let places = addresses(operands)?;
    let (operand, offset_bytes) = *places.get(usize::from(from_global))?;
    let behind = operands.splitn(3, ']').nth(2)?;
    let numbers = behind.split(',').map(str::trim);
    let numbers = numbers.filter(|text| !text.is_empty() && !text.contains('['));
    let numbers: Vec<&str> = numbers.collect();
    // Of `cp.async`, the optional last number is how many bytes are really read.
    let size = match (bulk, &numbers[..]) {
        (true, [size, ..]) | (false, [size] | [_, size]) => *size,
        _ => return None,
    };
    let bytes = match size.strip_prefix('$') {
        Some(operand) => Bytes::Operand(operand.parse().ok()?),
        None => Bytes::Fixed(size.parse().ok()?),
    };
    let op = if from_global { Op::Load } else { Op::Store };
    Some(Some(Access {
        op,
        bytes,
        operand,
        offset_bytes,
        says_global: true,
    }))
}

/// The addresses in brackets, `$n` or `$n+bytes`; `None` if one is something else.
fn addresses(operands: &str) -> Option<Vec<(usize, i64)>> {
    operands
        .split('[')
        .skip(1)
        .map(|rest| {
            let inside = rest.split_once(']')?.0.trim().strip_prefix('$')?;
            match inside.split_once('+') {
                Some((operand, offset)) => {
                    Some((operand.trim().parse().ok()?, offset.trim().parse().ok()?))
                }
                None => Some((inside.parse().ok()?, 0)),
            }
        })
        .collect()
}

/// Bits of a PTX type such as `f32` or `b128`.
pub fn type_bits(modifier: &str) -> Option<u32> {
    match modifier {
        "f16x2" | "bf16x2" => Some(32),
        "bf16" => Some(16),
        _ => {
            let bits = modifier.strip_prefix(['b', 'u', 's', 'f'])?.parse().ok();
            bits.filter(|bits| [8, 16, 32, 64, 128].contains(bits))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, op: Op, bytes: Bytes, operand: usize, says_global: bool) {
        let access = Access {
            op,
            bytes,
            operand,
            offset_bytes: 0,
            says_global,
        };
        assert_eq!(parse(text), Some(Some(access)), "{text}");
    }

    #[test]
    fn global_and_generic_operations_are_read() {
        use Bytes::Fixed;
        check("ld.global.cg.f32 $0, [$1]", Op::Load, Fixed(4), 1, true);
        let vector = "ld.global.nc.v4.f32 {$0,$1,$2,$3}, [$4]";
        check(vector, Op::Load, Fixed(16), 4, true);
        check("st.v2.u64 [$0], {$1,$2}", Op::Store, Fixed(16), 0, false);
        let swap = "atom.global.gpu.cas.b64 $0, [$1], $2, $3";
        check(swap, Op::AtomicCas, Fixed(8), 1, true);
        let add = "red.add.noftz.bf16x2 [$0], $1";
        check(add, Op::AtomicAdd, Fixed(4), 0, false);
    }

    #[test]
    fn offsets_are_read() {
        let with_offset = |text: &str| match parse(text) {
            Some(Some(access)) => access.offset_bytes,
            other => panic!("{other:?}"),
        };
        assert_eq!(with_offset("ld.global.f32 $0, [$1+4]"), 4);
        assert_eq!(with_offset("st.u8 [ $0 + -16 ], $1"), -16);
    }

    #[test]
    fn asynchronous_copies_are_accesses_to_their_global_side() {
        use Bytes::{Fixed, Operand};
        let load = "cp.async.cg.shared.global [$0], [$1], 16";
        check(load, Op::Load, Fixed(16), 1, true);
        let load = "cp.async.ca.shared::cta.global.L2::128B [$0], [$1], 4, $2";
        check(load, Op::Load, Operand(2), 1, true);
        let load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3]";
        check(load, Op::Load, Operand(2), 1, true);
        let store = "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 32";
        check(store, Op::Store, Fixed(32), 0, true);
        assert_eq!(parse("cp.async.wait_group 0"), Some(None));
    }

    #[test]
    fn predicates_that_compare_with_zero_are_read() {
        for (text, expected) in [
            ("setp.ne.b32 p, $2, 0", Some(("p", 2, false))),
            ("setp.eq.u32 %q, $0, 0", Some(("%q", 0, true))),
            ("setp.lt.s32 p, $2, 0", None),
            ("setp.ne.b32 p, $2, $3", None),
        ] {
            assert_eq!(comparison_with_zero(text), expected, "{text}");
        }
    }

    #[test]
    fn other_spaces_and_plain_arithmetic_are_no_accesses() {
        assert_eq!(parse("mov.u32 $0, %smid"), Some(None));
        assert_eq!(parse("ld.shared.f32 $0, [$1]"), Some(None));
        assert_eq!(parse("mad.lo.cc.u32 $0, $2, $3, $4"), Some(None));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for text in [
            "ld.global.f32 $0, [address]",
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile [$0], [$1, {$2, $3}], [$4]",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$0], [$1], $2",
            "wmma.load.a.sync.aligned.row.m16n16k16.f16 {$0}, [$1], $2",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
