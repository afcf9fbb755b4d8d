//! Tests for PTX with and without miscompiled instructions.

use super::rewrite_miscompiled;

#[test]
fn set_with_a_single_precision_result_becomes_selp() {
    let cases = [
        (
            "set.eq.f32.u32 %r1, %r2, 7;",
            "{ .reg .pred %superstep; setp.eq.u32 %superstep, %r2, 7; selp.f32 %r1, 0f3F800000, 0f00000000, %superstep; }",
        ),
        (
            "@!%p3 set.lt.and.ftz.f32.f32 %f1, %f2, %f3, !%p1;",
            "{ .reg .pred %superstep; setp.lt.and.ftz.f32 %superstep, %f2, %f3, !%p1; \
             @!%p3 selp.f32 %f1, 0f3F800000, 0f00000000, %superstep; }",
        ),
        (
            "{ set.gt.f32.s32 %0, %1, %2; L: }",
            "{ { .reg .pred %superstep; setp.gt.s32 %superstep, %1, %2; selp.f32 %0, 0f3F800000, 0f00000000, %superstep; } L: }",
        ),
    ];
    for (ptx, expected) in cases {
        assert_eq!(rewrite_miscompiled(ptx), expected);
    }
}

#[test]
fn other_instructions_are_unchanged() {
    let ptx = "set.eq.u32.f32 %r1, %f2, %f3;\nsetp.eq.f32 %p1, %f2, %f3;\nset.lt.s32.s32 %r1, %r2, %r3;\n\
               mov.f32 %reset.f32, %f1;\nset.eq.f16.f16 %h1, %h2, %h3;";
    assert_eq!(rewrite_miscompiled(ptx), ptx);
}
