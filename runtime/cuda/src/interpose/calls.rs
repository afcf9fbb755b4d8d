//! Known calls to proprietary libraries: a table in `superstep-runtime-core` describes their reads and writes.
//!
//! The linker and `dlsym` find our function before the library's. Kernels that the library launches during a call
//! belong to that call.

use crate::cuda::driver;
use crate::cuda::loader::dlsym;
use crate::recorder::launch::opaque::{in_known_call, is_in_known_call};
use crate::recorder::runtime::runtime;
use parking_lot::Mutex;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use superstep_runtime_core::calls;
use superstep_trace::Block;

/// `CUBLAS_STATUS_NOT_INITIALIZED` or `CUFFT_INVALID_PLAN`.
const NO_LIBRARY: c_int = 1;

struct Function {
    name: &'static CStr,
    /// The library's function; null until it is looked up.
    real: AtomicPtr<c_void>,
}

/// Workspaces that the program lends to libraries for all their calls.
static LENT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

impl Function {
    fn real(&self, own: *const c_void) -> Option<*mut c_void> {
        let mut real = self.real.load(Ordering::Relaxed);
        if real.is_null() {
            // SAFETY: the name is NUL-terminated.
            real = unsafe { dlsym()(libc::RTLD_NEXT, self.name.as_ptr()) };
            if real.is_null() || real.cast_const() == own {
                return None;
            }
            self.real.store(real, Ordering::Relaxed);
        }
        Some(real)
    }

    fn call(&self, arguments: &[usize], call: impl FnOnce() -> c_int) -> c_int {
        // Some of these functions call others.
        if is_in_known_call() || runtime().device().is_none() {
            return call();
        }
        let function = calls::function(&self.name.to_string_lossy());
        let known = function
            .and_then(|function| function.known(arguments, |at| driver::allocation_of(at).ok()));
        let (mut known, lent) = known.unzip();
        if let Some(known) = &mut known {
            known.writes.extend_from_slice(&LENT.lock());
        }
        let status = in_known_call(known, call);
        let mut all = LENT.lock();
        for block in lent.into_iter().flatten().filter(|_| status == 0) {
            if !all.contains(&block) {
                all.push(block);
            }
        }
        status
    }
}

type Pointer = *mut c_void;

/// Defines the exported functions, and `find`, which finds them by name.
macro_rules! wrappers {
    ($($family:ident $int:ident: $($name:ident $bytes:literal),+;)+) => {
        $($(signature!($family $int $name);)+)+

        /// Returns our function with this name and a reference to the library's, if there is one.
        fn find(name: &[u8]) -> Option<(*const std::ffi::c_void, &'static Function)> {
            $($(
                if name == stringify!($name).as_bytes() {
                    return Some(($name as *const std::ffi::c_void, &functions::$name));
                }
            )+)+
            None
        }

        #[allow(non_upper_case_globals, reason = "named as in the C interface")]
        mod functions {
            $($(
                pub(super) static $name: super::Function = super::Function {
                    name: superstep_runtime_core::cuda::c_name(concat!(stringify!($name), "\0")),
                    real: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
                };
            )+)+
        }
    };
}

/// The C signature of each family. `$n` is the type of sizes; operations and data types are enumerations.
#[rustfmt::skip]
macro_rules! signature {
    (GEMM $n:ident $name:ident) => { wrapper!($name(handle: Pointer, op_a: c_int, op_b: c_int, m: $n, n: $n, k: $n, alpha: Pointer,
        a: Pointer, lda: $n, b: Pointer, ldb: $n, beta: Pointer, c: Pointer, ldc: $n)); };
    (GEMM_TYPES $n:ident $name:ident) => { wrapper!($name(handle: Pointer, op_a: c_int, op_b: c_int, m: $n, n: $n, k: $n, alpha: Pointer,
        a: Pointer, type_a: c_int, lda: $n, b: Pointer, type_b: c_int, ldb: $n, beta: Pointer, c: Pointer, type_c: c_int, ldc: $n)); };
    (GEMM_EX $n:ident $name:ident) => { wrapper!($name(handle: Pointer, op_a: c_int, op_b: c_int, m: $n, n: $n, k: $n, alpha: Pointer,
        a: Pointer, type_a: c_int, lda: $n, b: Pointer, type_b: c_int, ldb: $n, beta: Pointer, c: Pointer, type_c: c_int, ldc: $n,
        compute: c_int, algorithm: c_int)); };
    (STRIDED $n:ident $name:ident) => { wrapper!($name(handle: Pointer, op_a: c_int, op_b: c_int, m: $n, n: $n, k: $n, alpha: Pointer,
        a: Pointer, lda: $n, stride_a: i64, b: Pointer, ldb: $n, stride_b: i64, beta: Pointer, c: Pointer, ldc: $n, stride_c: i64,
        count: $n)); };
    (STRIDED_EX $n:ident $name:ident) => { wrapper!($name(handle: Pointer, op_a: c_int, op_b: c_int, m: $n, n: $n, k: $n, alpha: Pointer,
        a: Pointer, type_a: c_int, lda: $n, stride_a: i64, b: Pointer, type_b: c_int, ldb: $n, stride_b: i64, beta: Pointer,
        c: Pointer, type_c: c_int, ldc: $n, stride_c: i64, count: $n, compute: c_int, algorithm: c_int)); };
    (AXPY $n:ident $name:ident) => {
        wrapper!($name(handle: Pointer, n: $n, alpha: Pointer, x: Pointer, incx: $n, y: Pointer, incy: $n));
    };
    (COPY $n:ident $name:ident) => { wrapper!($name(handle: Pointer, n: $n, x: Pointer, incx: $n, y: Pointer, incy: $n)); };
    (TRANSFORM $n:ident $name:ident) => { wrapper!($name(plan: $n, input: Pointer, output: Pointer)); };
    (COMPLEX_TO_REAL $n:ident $name:ident) => { wrapper!($name(plan: $n, input: Pointer, output: Pointer)); };
    (WORKSPACE $n:ident $name:ident) => { wrapper!($name(handle: Pointer, workspace: Pointer, bytes: $n)); };
    (WORK_AREA $n:ident $name:ident) => { wrapper!($name(plan: $n, area: Pointer)); };
}

macro_rules! wrapper {
    ($name:ident($($argument:ident: $type:ty),+)) => {
        #[doc = concat!("Calls the library's `", stringify!($name), "` and records its reads and writes.")]
        ///
        /// # Safety
        ///
        /// The arguments must meet the contract of the library's function.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, clippy::many_single_char_names, reason = "the C interface")]
        pub unsafe extern "C" fn $name($($argument: $type),+) -> c_int {
            let Some(real) = functions::$name.real($name as *const c_void) else {
                return NO_LIBRARY;
            };
            // SAFETY: the library exports `real` under this name; its header declares it with these types.
            let real = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),+) -> c_int>(real) };
            // SAFETY: the program calls this function with these arguments.
            functions::$name.call(&[$($argument as usize),+], || unsafe { real($($argument),+) })
        }
    };
}
superstep_runtime_core::known_calls!(wrappers);

pub fn has(name: &[u8]) -> bool {
    find(name).is_some()
}

pub fn replacement(name: &[u8], found: *mut c_void) -> Option<*const c_void> {
    let (ours, function) = find(name)?;
    if ours != found.cast_const() {
        function.real.store(found, Ordering::Relaxed);
    }
    Some(ours)
}
