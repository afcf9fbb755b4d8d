//! Tests for `matrix`.

use super::*;

fn ptx(text: &str) -> Option<MatrixOperation> {
    let (opcode, words) = text.split_once('.')?;
    read(opcode, words.split('.'))
}

#[test]
fn ptx_and_intrinsics_name_the_same_tiles() {
    let load = parse_intrinsic("llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0");
    let Some(MatrixOperation::Load(tile)) = load else {
        panic!("{load:?}");
    };
    assert_eq!((tile.line_bytes(), tile.piece_bytes()), (32, 16));
    assert_eq!(
        load,
        ptx("wmma.load.a.sync.aligned.row.m16n16k16.global.f16")
    );
    let store = parse_intrinsic("llvm.nvvm.wmma.m8n32k16.store.d.col.stride.s32.p1");
    let Some(MatrixOperation::Store(tile)) = store else {
        panic!("{store:?}");
    };
    assert_eq!((tile.line_bytes(), tile.piece_bytes()), (32, 32));
    assert_eq!(store, ptx("wmma.store.d.sync.aligned.col.m8n32k16.s32"));
    let bits = parse_intrinsic("llvm.nvvm.wmma.m8n8k128.load.b.col.stride.b1.p0");
    let Some(MatrixOperation::Load(tile)) = bits else {
        panic!("{bits:?}");
    };
    assert_eq!((tile.line_bytes(), tile.piece_bytes()), (16, 4));
}

#[test]
fn products_get_all_four_element_types() {
    use Element::*;
    for (operation, types) in [
        (
            parse_intrinsic("llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f16"),
            [F32, F16, F16, F16],
        ),
        (
            parse_intrinsic("llvm.nvvm.wmma.m16n16k8.mma.row.col.tf32"),
            [F32, Tf32, Tf32, F32],
        ),
        (
            parse_intrinsic("llvm.nvvm.wmma.m8n8k4.mma.row.col.rn.f64"),
            [F64; 4],
        ),
        (
            parse_intrinsic("llvm.nvvm.wmma.m8n8k128.mma.xor.popc.row.col.b1"),
            [S32, B1, B1, S32],
        ),
        (
            ptx("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
            [F32, F16, F16, F32],
        ),
        (
            ptx("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32"),
            [S32, U8, S8, S32],
        ),
    ] {
        let Some(MatrixOperation::Multiply(it)) = operation else {
            panic!("{types:?}");
        };
        assert_eq!([it.d, it.a, it.b, it.c], types);
    }
}

#[test]
fn unsupported_operations_are_rejected() {
    for text in [
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32",
        "mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32",
        "mma.sync.aligned.m32n32k128.row.col.s32.s8.s8.s32",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
    ] {
        assert_eq!(ptx(text), None, "{text}");
    }
    assert!(ptx("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16").is_some());
}
