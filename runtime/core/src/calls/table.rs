//! Known functions of proprietary libraries: matrix products, AXPY and COPY of cuBLAS, transforms
//! of cuFFT. For each family the meaning of its arguments, counted from 0; for each function the bytes of an element.
//!
//! Functions whose arguments do not determine their accesses are missing: `cublasLtMatmul`, whose descriptors name further memory, and
//! products with matrices' addresses on the device (`cublasSgemmBatched`).

use super::Number::{Argument, Fixed};
use super::{Access, Element, Function, Number, Shape};

const ONE: Number = Fixed(1);

const fn reads(pointer: usize, shape: Shape) -> Access {
    Access::Reads(pointer, shape)
}

const fn writes(pointer: usize, shape: Shape) -> Access {
    Access::Writes(pointer, shape)
}

/// A column-major matrix; its parameters, but for the last two, are arguments.
const fn matrix(rows: Number, columns: Number, leading: usize, element: Element) -> Shape {
    matrices(rows, columns, leading, element, [ONE, Fixed(0)])
}

const fn matrices(
    rows: Number,
    columns: Number,
    leading: usize,
    element: Element,
    [count, stride]: [Number; 2],
) -> Shape {
    Shape::Matrices {
        rows,
        columns,
        leading: Argument(leading),
        element,
        count,
        stride,
    }
}

/// Argument `plain`, or `other` where the operation `operation` is a transposition.
const fn either(operation: usize, plain: usize, other: usize) -> Number {
    Number::Either {
        operation,
        plain,
        other,
    }
}

/// `count` elements that are `increment` elements apart.
const fn vector(count: usize, increment: usize, element: Element) -> Shape {
    matrix(ONE, Argument(count), increment, element)
}

const OWN: Element = Element::Own;

/// handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc
const GEMM: &[Access] = &[
    reads(7, matrix(either(1, 3, 5), either(1, 5, 3), 8, OWN)),
    reads(9, matrix(either(2, 5, 4), either(2, 4, 5), 10, OWN)),
    writes(12, matrix(Argument(3), Argument(4), 13, OWN)),
];

/// handle, transa, transb, m, n, k, alpha, A, type, lda, B, type, ldb, beta, C, type, ldc, compute type, algorithm
const GEMM_EX: &[Access] = GEMM_TYPES;

/// handle, transa, transb, m, n, k, alpha, A, type, lda, B, type, ldb, beta, C, type, ldc
const GEMM_TYPES: &[Access] = &[
    reads(
        7,
        matrix(either(1, 3, 5), either(1, 5, 3), 9, Element::Type(8)),
    ),
    reads(
        10,
        matrix(either(2, 5, 4), either(2, 4, 5), 12, Element::Type(11)),
    ),
    writes(14, matrix(Argument(3), Argument(4), 16, Element::Type(15))),
];

/// handle, transa, transb, m, n, k, alpha, A, lda, stride, B, ldb, stride, beta, C, ldc, stride, count
const STRIDED: &[Access] = &[
    reads(
        7,
        matrices(
            either(1, 3, 5),
            either(1, 5, 3),
            8,
            OWN,
            [Argument(17), Argument(9)],
        ),
    ),
    reads(
        10,
        matrices(
            either(2, 5, 4),
            either(2, 4, 5),
            11,
            OWN,
            [Argument(17), Argument(12)],
        ),
    ),
    writes(
        14,
        matrices(
            Argument(3),
            Argument(4),
            15,
            OWN,
            [Argument(17), Argument(16)],
        ),
    ),
];

/// handle, transa, transb, m, n, k, alpha, A, type, lda, stride, B, type, ldb, stride, beta, C, type, ldc, stride, count
const STRIDED_EX: &[Access] = &[
    reads(
        7,
        matrices(
            either(1, 3, 5),
            either(1, 5, 3),
            9,
            Element::Type(8),
            [Argument(20), Argument(10)],
        ),
    ),
    reads(
        11,
        matrices(
            either(2, 5, 4),
            either(2, 4, 5),
            13,
            Element::Type(12),
            [Argument(20), Argument(14)],
        ),
    ),
    writes(
        16,
        matrices(
            Argument(3),
            Argument(4),
            18,
            Element::Type(17),
            [Argument(20), Argument(19)],
        ),
    ),
];

/// handle, n, alpha, x, incx, y, incy
const AXPY: &[Access] = &[reads(3, vector(1, 4, OWN)), writes(5, vector(1, 6, OWN))];

/// handle, n, x, incx, y, incy
const COPY: &[Access] = &[reads(2, vector(1, 3, OWN)), writes(4, vector(1, 5, OWN))];

/// plan, input, output. The plan knows how long they are.
const TRANSFORM: &[Access] = &[reads(1, Shape::Allocation), writes(2, Shape::Allocation)];

/// The same; the input is overwritten.
const BACK_TO_REAL: &[Access] = &[writes(1, Shape::Allocation), writes(2, Shape::Allocation)];

/// handle, workspace, bytes
const WORKSPACE: &[Access] = &[Access::Lends(1, Shape::Bytes(2))];

/// plan, work area
const WORK_AREA: &[Access] = &[Access::Lends(1, Shape::Allocation)];

/// Passes the table to a macro: families with the type of their sizes, then functions with the bytes of an element.
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
            BACK_TO_REAL c_int: cufftExecC2R 8, cufftExecZ2D 16;
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
