//! cuBLAS for this backend, implemented with the Fortran functions of OpenBLAS where it is installed.
//!
//! A file `libcublas.so.12` that links to this library replaces NVIDIA's. Device memory is host memory, and calls are
//! synchronous. Each call is recorded as an opaque launch.

mod helpers;
mod table;

use crate::runtime::{session, unsupported};
use helpers::{INVALID_VALUE, NOT_INITIALIZED, SUCCESS, stream_of};
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use std::time::Instant;
use superstep_runtime_core::calls;

/// Maximum number of arguments of a function, all integers or pointers. Functions that take fewer ignore the rest.
const MAX_ARGUMENTS: usize = 14;

macro_rules! fortran {
    ($function:expr, $places:expr, $result:ty) => {
        fortran!(@call $function, $places, $result, a b c d e f g h i j k l m n)
    };
    (@call $function:expr, $places:expr, $result:ty, $($argument:ident)+) => {{
        let [$($argument),+] = $places;
        type Function = unsafe extern "C" fn($(fortran!(@word $argument)),+) -> $result;
        std::mem::transmute::<*mut c_void, Function>($function)($($argument),+)
    }};
    (@word $argument:ident) => { usize };
}

/// Returns the OpenBLAS function with this name, or terminates the program if there is none.
fn function(name: &CStr) -> *mut c_void {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    // SAFETY: the name is NUL-terminated; OpenBLAS's constructors only start its threads.
    let open = || unsafe { libc::dlopen(c"libopenblas.so.0".as_ptr(), libc::RTLD_NOW) as usize };
    let library = *LIBRARY.get_or_init(open) as *mut c_void;
    if library.is_null() {
        unsupported(format_args!(
            "the program calls cuBLAS, which needs OpenBLAS on the CPU backend; install libopenblas0"
        ));
    }
    // SAFETY: the library is never closed; the name is NUL-terminated.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() {
        unsupported(format_args!(
            "the installed version of OpenBLAS does not provide {}",
            name.to_string_lossy()
        ));
    }
    found
}

/// Converts a cuBLAS enumerator to the letter of the Fortran interface; returns `None` if it is invalid.
fn letter(kind: u8, number: c_int) -> Option<u8> {
    let letters: &[u8] = match kind {
        b'o' => b"NTC",
        b'u' => b"LU",
        b's' => b"LR",
        _ => b"NU",
    };
    letters.get(usize::try_from(number).ok()?).copied()
}

/// Runs the cuBLAS function `name` through OpenBLAS's function `real`. `kinds` describes the arguments after the handle.
///
/// # Safety
///
/// `arguments` must match `kinds`, with the pointers that the cuBLAS function requires.
unsafe fn call(name: &str, real: &CStr, kinds: &str, arguments: [usize; MAX_ARGUMENTS]) -> c_int {
    let Some(stream) = stream_of(arguments[0]) else {
        return NOT_INITIALIZED;
    };
    let (kinds, result) = kinds.split_once('>').unwrap_or((kinds, ""));
    // Fortran takes all arguments by address.
    let mut values = [0 as c_int; MAX_ARGUMENTS];
    let mut places = [0usize; MAX_ARGUMENTS];
    let mut extended = arguments;
    for (index, kind) in kinds.bytes().enumerate() {
        let argument = &mut extended[index + 1];
        if kind == b'p' {
            places[index] = *argument;
            continue;
        }
        let number = *argument as c_int;
        // The upper half of a register that holds an `int` is undefined.
        *argument = number as usize;
        values[index] = match kind {
            b'i' => number,
            kind => match letter(kind, number) {
                Some(letter) => c_int::from(letter), // Fortran reads the first byte
                None => return INVALID_VALUE,
            },
        };
        places[index] = std::ptr::from_ref(&values[index]).addr();
    }
    let function = function(real);
    let known = calls::function(name).and_then(|function| function.known(&extended, |_| None));
    let known = known.map(|(known, _)| known);
    let launch = session().opaque_launch(stream, Some(name), None, known);
    let start = Instant::now();
    let to = arguments.get(kinds.len() + 1).copied().unwrap_or(0);
    // SAFETY: `to` and the arguments have the types from the table; the function ignores any additional arguments.
    unsafe {
        match result {
            "s" => *(to as *mut f32) = fortran!(function, places, f32),
            "d" => *(to as *mut f64) = fortran!(function, places, f64),
            "i" => *(to as *mut c_int) = fortran!(function, places, c_int),
            _ => fortran!(function, places, ()),
        }
    }
    let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    session().opaque_end(launch, Some(name), elapsed);
    SUCCESS
}

macro_rules! blas {
    ($($kinds:literal: $($name:ident $real:ident),+;)+) => {
        $($(blas!(@define $kinds $name $real (a b c d e f g h i j k l m n));)+)+
    };
    (@define $kinds:literal $name:ident $real:ident ($($argument:ident)+)) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The same as for cuBLAS's function.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, clippy::many_single_char_names, reason = "the C interface")]
        pub unsafe extern "C" fn $name($($argument: usize),+) -> std::ffi::c_int {
            const REAL: &std::ffi::CStr = superstep_runtime_core::cuda::c_name(concat!(stringify!($real), "\0"));
            // SAFETY: the table gives the kinds of these arguments.
            unsafe { super::call(stringify!($name), REAL, $kinds, [$($argument),+]) }
        }
    };
}
use blas;

macro_rules! strided {
    ($($name:ident $real:ident $element:literal;)+) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The same as for cuBLAS's function.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the C interface")]
        pub unsafe extern "C" fn $name(
            handle: usize, operation_a: c_int, operation_b: c_int, m: c_int, n: c_int, k: c_int, alpha: usize,
            a: usize, lda: c_int, stride_a: i64, b: usize, ldb: c_int, stride_b: i64, beta: usize,
            c: usize, ldc: c_int, stride_c: i64, count: c_int,
        ) -> c_int {
            let word = |number: c_int| number as usize;
            let place = |start: usize, stride: i64, index: c_int| {
                start.wrapping_add_signed(stride as isize * index as isize * $element)
            };
            for index in 0..count {
                // SAFETY: the program passes matrices of these sizes for each index of the batch.
                let status = unsafe {
                    table::$real(
                        handle, word(operation_a), word(operation_b), word(m), word(n), word(k), alpha,
                        place(a, stride_a, index), word(lda), place(b, stride_b, index), word(ldb), beta,
                        place(c, stride_c, index), word(ldc),
                    )
                };
                if status != SUCCESS {
                    return status;
                }
            }
            SUCCESS
        }
    )+};
}

strided! {
    cublasSgemmStridedBatched cublasSgemm_v2 4;
    cublasDgemmStridedBatched cublasDgemm_v2 8;
    cublasCgemmStridedBatched cublasCgemm_v2 8;
    cublasZgemmStridedBatched cublasZgemm_v2 16;
}

#[cfg(test)]
mod tests;
