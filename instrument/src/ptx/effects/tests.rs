//! Tests for `effects`.

use super::*;

#[test]
fn single_instructions_have_the_expected_effect() {
    use Effect::*;
    for (text, expected) in [
        ("", None),
        ("vadd2.u32.u32.u32 $0, $1, $2, $3", None),
        ("ld.global.nc.v2.f32 {$0, $1}, [$2]", None),
        ("ld.param.u32 $0, [p]", None),
        (
            "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {$0, $1}, {$2}, {$3}, {$4, $5}",
            None,
        ),
        ("vote.sync.ballot.b32 $0, $1, $2", None),
        ("mbarrier.pending_count.b64 $0, $1", None),
        ("ld.global.u32 $0, [$1]", Reads),
        ("ld.shared.u32 $0, [$1]", Reads),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [$1]", Reads),
        ("suld.b.1d.b32.trap $0, [$1, {$2}]", Reads),
        ("ld.volatile.global.u32 $0, [$1]", Acts),
        ("ld.acquire.gpu.u32 $0, [$1]", Acts),
        ("ld.global.cv.u32 $0, [$1]", Acts),
        ("ld.global.cg.u32 $0, [$1]", Reads),
        ("atom.add.v2.f32 {$0, $1}, [$2], {$3, $4}", Acts),
        ("red.add.f32 [$1], $2", Acts),
        ("st.u32 [$1], $2", Acts),
        ("mbarrier.test_wait.shared.b64 p, [$1], $2", Acts),
        ("bar.red.popc.u32 $0, 0, $1", Acts),
        ("fence.acq_rel.gpu", Acts),
        ("trap", Acts),
        ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {$0}, [$1]", Acts),
        ("an.instruction.of.another.year $0, $1", Acts),
        ("no ptx, [", Acts),
    ] {
        assert_eq!(Effect::of(text), expected, "{text}");
    }
}

#[test]
fn template_has_the_strongest_effect_of_its_instructions() {
    let text = "{ ld.u32 $0, [$1]; add.u32 $0, $0, 1; st.u32 [$1], $0; }";
    assert_eq!(Effect::of(text), Effect::Acts);
    assert_eq!(
        Effect::of("{ AGAIN: add.u32 $0, $0, 1; bra AGAIN; }"),
        Effect::None
    );
}
