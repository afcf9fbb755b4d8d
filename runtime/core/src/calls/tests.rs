//! Accesses of known calls, compared with numbers derived by hand.

use super::*;

/// Returns the blocks that a call to `name` reads and writes: address, bytes, rows, row pitch, planes and plane pitch.
fn touched(name: &str, arguments: &[usize]) -> (Vec<[u64; 6]>, Vec<[u64; 6]>) {
    let function = function(name).unwrap();
    let (call, _) = function.known(arguments, |_| None).unwrap();
    let blocks = |blocks: Vec<Block>| {
        let words = |b: Block| {
            [
                b.address,
                b.bytes,
                b.rows,
                b.row_pitch,
                b.planes,
                b.plane_pitch,
            ]
        };
        blocks.into_iter().map(words).collect()
    };
    (blocks(call.reads), blocks(call.writes))
}

#[test]
fn a_product_reads_two_matrices_and_writes_one() {
    // C (5 x 6, columns 10 apart) = A' B: A is 7 x 5, B is 7 x 6.
    let arguments = [1, 1, 0, 5, 6, 7, 2, 1000, 8, 2000, 7, 3, 3000, 10];
    let (reads, writes) = touched("cublasSgemm_v2", &arguments);
    assert_eq!(reads, [[1000, 28, 5, 32, 1, 0], [2000, 28, 6, 28, 1, 0]]);
    assert_eq!(writes, [[3000, 20, 6, 40, 1, 0]]);
    let (_, writes) = touched("cublasZgemm_v2_64", &arguments);
    assert_eq!(writes, [[3000, 80, 6, 160, 1, 0]]);
    let mut empty = arguments;
    empty[3] = 0;
    assert_eq!(touched("cublasSgemm_v2", &empty).1, [[0; 6]; 0]);
}

#[test]
fn strided_products_and_mixed_types_have_expected_blocks() {
    let (reads, writes) = touched(
        "cublasSgemmStridedBatched",
        &[
            1, 0, 1, 5, 6, 7, 2, 1000, 5, 35, 2000, 6, 42, 3, 3000, 5, 30, 4,
        ],
    );
    assert_eq!(
        reads,
        [[1000, 20, 7, 20, 4, 140], [2000, 24, 7, 24, 4, 168]]
    );
    assert_eq!(writes, [[3000, 20, 6, 20, 4, 120]]);
    // A is half, B is bfloat16, C is float.
    let (reads, writes) = touched(
        "cublasGemmEx",
        &[
            1, 0, 0, 5, 6, 7, 2, 1000, 2, 5, 2000, 14, 7, 3, 3000, 0, 5, 68, 0,
        ],
    );
    assert_eq!(reads, [[1000, 10, 7, 10, 1, 0], [2000, 14, 6, 14, 1, 0]]);
    assert_eq!(writes, [[3000, 20, 6, 20, 1, 0]]);
}

#[test]
fn vectors_can_be_read_backwards() {
    let backwards = -2i64 as usize;
    let (reads, writes) = touched("cublasDaxpy_v2", &[1, 9, 2, 1000, 1, 2000, backwards]);
    assert_eq!(reads, [[1000, 8, 9, 8, 1, 0]]);
    assert_eq!(writes, [[2000, 8, 9, 16, 1, 0]]);
    let (reads, writes) = touched("cublasCcopy_v2", &[1, 3, 1000, 2, 2000, 1]);
    assert_eq!(reads, [[1000, 8, 3, 16, 1, 0]]);
    assert_eq!(writes, [[2000, 8, 3, 8, 1, 0]]);
}

#[test]
fn calls_with_undetermined_accesses_are_unknown() {
    let function = function("cublasGemmEx").unwrap();
    let mut arguments = [1; 19];
    assert!(function.known(&arguments, |_| None).is_some());
    arguments[15] = 33; // CUDA_R_4F_E2M1
    assert!(function.known(&arguments, |_| None).is_none());
    assert!(super::function("cublasLtMatmul").is_none());
}
