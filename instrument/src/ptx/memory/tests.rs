//! Tests for `memory`.

use super::*;

/// Returns the access of the last instruction of a template.
fn last(text: &str) -> Option<Option<Access>> {
    let template = Template::parse(text).unwrap();
    let instructions: Vec<&Instruction> = template.instructions().collect();
    let (last, before) = instructions.split_last().unwrap();
    access(before, last)
}

fn check(text: &str, op: Op, bytes: Number, operand: usize, is_explicitly_global: bool) {
    let access = Access {
        op,
        bytes,
        place: Place {
            operand,
            offset_bytes: 0,
            is_explicitly_global,
        },
        lines: None,
    };
    assert_eq!(last(text), Some(Some(access)), "{text}");
}

#[test]
fn global_and_generic_operations_are_recognized() {
    use Number::Fixed;
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
fn offsets_are_recognized() {
    let with_offset = |text: &str| match last(text) {
        Some(Some(access)) => access.place.offset_bytes,
        other => panic!("{other:?}"),
    };
    assert_eq!(with_offset("ld.global.f32 $0, [$1+4]"), 4);
    assert_eq!(with_offset("st.u8 [ $0 + -16 ], $1"), -16);
}

#[test]
fn addresses_are_followed_through_registers() {
    let text = "{ .reg .b64 a, b; cvta.to.global.u64 a, $1; add.s64 b, a, 8; ld.f32 $0, [b+4]; }";
    let place = last(text).unwrap().unwrap().place;
    let expected = Place {
        operand: 1,
        offset_bytes: 12,
        is_explicitly_global: true,
    };
    assert_eq!(place, expected);
    let guarded = "{ .reg .b64 a; mov.b64 a, $1; @$3 mov.b64 a, $2; ld.f32 $0, [a]; }";
    assert_eq!(last(guarded), None);
}

#[test]
fn asynchronous_copies_access_global_memory() {
    use Number::{Fixed, Operand};
    let load = "cp.async.cg.shared.global [$0], [$1], 16";
    check(load, Op::Load, Fixed(16), 1, true);
    let load = "cp.async.ca.shared::cta.global.L2::128B [$0], [$1], 4, $2";
    check(load, Op::Load, Operand(2), 1, true);
    let load =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3]";
    check(load, Op::Load, Operand(2), 1, true);
    let store = "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 32";
    check(store, Op::Store, Fixed(32), 0, true);
    for text in [
        "cp.async.wait_group 0",
        "cp.async.mbarrier.arrive.shared.b64 [$0]",
    ] {
        assert_eq!(last(text), Some(None));
    }
}

#[test]
fn lanes_access_pieces_of_matrices() {
    let piece = |text: &str| match last(text) {
        Some(Some(Access {
            op,
            bytes: Number::Fixed(bytes),
            place: Place { operand, .. },
            lines: Some((tile, Some(stride))),
        })) => (op, bytes, operand, tile.line_bytes(), stride),
        other => panic!("{other:?}"),
    };
    let load = "wmma.load.b.sync.aligned.col.m16n16k16.global.bf16 {$0,$1,$2,$3}, [$4], $5";
    let expected = (Op::Load, 16, 4, 32, Number::Operand(5));
    assert_eq!(piece(load), expected);
    let store = "wmma.store.d.sync.aligned.row.m8n8k4.f64 [$0], {$1,$2}, 24";
    assert_eq!(piece(store), (Op::Store, 16, 0, 64, Number::Fixed(24)));
    let shared = "wmma.load.c.sync.aligned.row.m8n8k4.shared.f64 {$0,$1}, [$2]";
    assert_eq!(last(shared), Some(None));
}

#[test]
fn predicates_that_compare_with_zero_are_recognized() {
    for (test, expected) in [
        ("setp.ne.b32 p, $2, 0", Some((2, false))),
        ("setp.eq.u32 p, $0, 0", Some((0, true))),
        ("setp.lt.s32 p, $2, 0", None),
        ("setp.ne.b32 p, $2, $3", None),
    ] {
        let template = Template::parse(&format!(".reg .pred p; {test};")).unwrap();
        let before: Vec<&Instruction> = template.instructions().collect();
        assert_eq!(
            comparison_with_zero(&before, Register::Declared(0)),
            expected,
            "{test}"
        );
    }
}

#[test]
fn other_spaces_and_plain_arithmetic_are_not_accesses() {
    assert_eq!(last("mov.u32 $0, %smid"), Some(None));
    assert_eq!(last("ld.shared::cta.f32 $0, [$1]"), Some(None));
    assert_eq!(last("mad.lo.cc.u32 $0, $2, $3, $4"), Some(None));
}

#[test]
fn unsupported_accesses_are_reported() {
    for text in [
        "ld.global.f32 $0, [address]",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile [$0], [$1, {$2, $3}], [$4]",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$0], [$1], $2",
        "wmma.load.a.sync.aligned.row.m16n16k15.f16 {$0}, [$1], $2",
    ] {
        assert_eq!(last(text), None, "{text}");
    }
}
