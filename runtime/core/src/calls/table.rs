//! Known functions of proprietary libraries: cuBLAS's matrix products, AXPY and COPY, cuFFT's transforms, and the functions
//! that set either library's workspace. The table gives, for each family, the meaning of its arguments, counted from 0, and,
//! for each function, the size of an element in bytes.
//!
//! The table omits functions whose arguments do not determine their accesses, such as `cublasLtMatmul` (its descriptors
//! refer to more memory) and `cublasSgemmBatched` (it reads the matrices' addresses from device memory).

use super::Access::{Lends, Reads, Writes};
use super::Number::{Argument, Either, Fixed};
use super::Shape::{Allocation, Bytes, Matrices};
use super::{Access, Function, Number, Shape};

const ONE: Number = Fixed(1);

/// `count` elements that are `increment` elements apart.
const fn vector(count: usize, increment: usize) -> Shape {
    Matrices([ONE, Argument(count)], increment, None, [ONE, ZERO])
}

const ZERO: Number = Fixed(0);

/// The arguments that describe a matrix in a product: its address, leading dimension and element type (if it is not the
/// function's own), and the stride to the next matrix.
struct Operand(usize, usize, Option<usize>, Number);

/// Matrix products `c = op(a) op(b)`, whose arguments 1 to 5 are transa, transb, m, n and k.
const fn products(a: Operand, b: Operand, c: Operand, count: Number) -> [Access; 3] {
    let [m, n] = [Argument(3), Argument(4)];
    let of_a = [Either(1, 3, 5), Either(1, 5, 3)];
    let of_b = [Either(2, 5, 4), Either(2, 4, 5)];
    [
        Reads(a.0, Matrices(of_a, a.1, a.2, [count, a.3])),
        Reads(b.0, Matrices(of_b, b.1, b.2, [count, b.3])),
        Writes(c.0, Matrices([m, n], c.1, c.2, [count, c.3])),
    ]
}

/// handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc
const GEMM: &[Access] = &products(
    Operand(7, 8, None, ZERO),
    Operand(9, 10, None, ZERO),
    Operand(12, 13, None, ZERO),
    ONE,
);

/// handle, transa, transb, m, n, k, alpha, A, type, lda, B, type, ldb, beta, C, type, ldc, compute type, algorithm
const GEMM_EX: &[Access] = GEMM_TYPES;

/// handle, transa, transb, m, n, k, alpha, A, type, lda, B, type, ldb, beta, C, type, ldc
const GEMM_TYPES: &[Access] = &products(
    Operand(7, 9, Some(8), ZERO),
    Operand(10, 12, Some(11), ZERO),
    Operand(14, 16, Some(15), ZERO),
    ONE,
);

/// handle, transa, transb, m, n, k, alpha, A, lda, stride, B, ldb, stride, beta, C, ldc, stride, count
const STRIDED: &[Access] = &products(
    Operand(7, 8, None, Argument(9)),
    Operand(10, 11, None, Argument(12)),
    Operand(14, 15, None, Argument(16)),
    Argument(17),
);

/// handle, transa, transb, m, n, k, alpha, A, type, lda, stride, B, type, ldb, stride, beta, C, type, ldc, stride, count
const STRIDED_EX: &[Access] = &products(
    Operand(7, 9, Some(8), Argument(10)),
    Operand(11, 13, Some(12), Argument(14)),
    Operand(16, 18, Some(17), Argument(19)),
    Argument(20),
);

/// handle, n, alpha, x, incx, y, incy
const AXPY: &[Access] = &[Reads(3, vector(1, 4)), Writes(5, vector(1, 6))];

/// handle, n, x, incx, y, incy
const COPY: &[Access] = &[Reads(2, vector(1, 3)), Writes(4, vector(1, 5))];

/// plan, input, output (only the plan determines the lengths)
const TRANSFORM: &[Access] = &[Reads(1, Allocation), Writes(2, Allocation)];

/// plan, input (which is overwritten), output
const COMPLEX_TO_REAL: &[Access] = &[Writes(1, Allocation), Writes(2, Allocation)];

/// handle, workspace, bytes
const WORKSPACE: &[Access] = &[Lends(1, Bytes(2))];

/// plan, work area
const WORK_AREA: &[Access] = &[Lends(1, Allocation)];

/// Passes the table to a macro: each family with the type of its size arguments, and its functions with the size of an
/// element in bytes (0 if an argument determines it).
#[macro_export]
macro_rules! known_calls {
    ($macro:ident) => {
        $macro! {
            GEMM c_int: cublasSgemm_v2 4, cublasDgemm_v2 8, cublasCgemm_v2 8, cublasZgemm_v2 16, cublasHgemm 2, cublasCgemm3m 8,
                cublasZgemm3m 16;
            GEMM i64: cublasSgemm_v2_64 4, cublasDgemm_v2_64 8, cublasCgemm_v2_64 8, cublasZgemm_v2_64 16, cublasHgemm_64 2;
            GEMM_TYPES c_int: cublasSgemmEx 0, cublasCgemmEx 0;
            GEMM_TYPES i64: cublasSgemmEx_64 0, cublasCgemmEx_64 0;
            GEMM_EX c_int: cublasGemmEx 0;
            GEMM_EX i64: cublasGemmEx_64 0;
            STRIDED c_int: cublasSgemmStridedBatched 4, cublasDgemmStridedBatched 8, cublasCgemmStridedBatched 8,
                cublasZgemmStridedBatched 16, cublasHgemmStridedBatched 2;
            STRIDED i64: cublasSgemmStridedBatched_64 4, cublasDgemmStridedBatched_64 8, cublasCgemmStridedBatched_64 8,
                cublasZgemmStridedBatched_64 16, cublasHgemmStridedBatched_64 2;
            STRIDED_EX c_int: cublasGemmStridedBatchedEx 0;
            STRIDED_EX i64: cublasGemmStridedBatchedEx_64 0;
            AXPY c_int: cublasSaxpy_v2 4, cublasDaxpy_v2 8, cublasCaxpy_v2 8, cublasZaxpy_v2 16;
            AXPY i64: cublasSaxpy_v2_64 4, cublasDaxpy_v2_64 8, cublasCaxpy_v2_64 8, cublasZaxpy_v2_64 16;
            COPY c_int: cublasScopy_v2 4, cublasDcopy_v2 8, cublasCcopy_v2 8, cublasZcopy_v2 16;
            COPY i64: cublasScopy_v2_64 4, cublasDcopy_v2_64 8, cublasCcopy_v2_64 8, cublasZcopy_v2_64 16;
            TRANSFORM c_int: cufftExecC2C 8, cufftExecR2C 8, cufftExecZ2Z 16, cufftExecD2Z 16;
            COMPLEX_TO_REAL c_int: cufftExecC2R 8, cufftExecZ2D 16;
            WORKSPACE usize: cublasSetWorkspace_v2 1;
            WORK_AREA c_int: cufftSetWorkArea 1;
        }
    };
}

macro_rules! functions {
    ($($family:ident $int:ident: $($name:ident $bytes:literal),+;)+) => {
        pub(super) static FUNCTIONS: &[Function] = &[
            $($(Function { name: stringify!($name), accesses: $family, bytes: $bytes }),+),+
        ];
    };
}
known_calls!(functions);
