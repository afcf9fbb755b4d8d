//! CUDA errors: codes, names, messages, each host thread's last error, and the sticky error.

use crate::error_table::ERRORS;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};
use superstep_runtime_core::is_used_fork;

/// An error code. `error_table` names the codes that this library returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError(pub c_int);

pub type CudaResult = Result<(), CudaError>;

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// Error code of a failed kernel, returned by every later call; 0 if there is none.
static STICKY: AtomicI32 = AtomicI32::new(0);

pub fn set_sticky(error: CudaError) {
    let _ = STICKY.compare_exchange(0, error.0, Ordering::SeqCst, Ordering::SeqCst);
}

/// Clears the sticky error (`cudaDeviceReset`).
pub fn clear_sticky() {
    STICKY.store(0, Ordering::SeqCst);
}

/// Returns the sticky error as a result. In a fork of a process that had used CUDA, all calls fail, as on a GPU.
pub fn check_sticky() -> CudaResult {
    fail_if(is_used_fork(), CudaError::INITIALIZATION)?;
    match STICKY.load(Ordering::SeqCst) {
        0 => Ok(()),
        code => Err(CudaError(code)),
    }
}

/// Returns the code of a call's result, and records an error for `cudaGetLastError`.
pub fn code_of(result: CudaResult) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            if error != CudaError::NOT_READY {
                LAST.set(error.0);
            }
            error.0
        }
    }
}

fn last_error(reset: bool) -> c_int {
    let sticky = STICKY.load(Ordering::SeqCst);
    let last = if reset { LAST.replace(0) } else { LAST.get() };
    if last == 0 { sticky } else { last }
}

const UNRECOGNIZED: &CStr = c"unrecognized error code";

/// Returns an error's name and message.
fn describe(code: c_int) -> (&'static CStr, &'static CStr) {
    match ERRORS.binary_search_by_key(&code, |row| row.0) {
        Ok(index) => (ERRORS[index].1, ERRORS[index].2),
        Err(_) => (UNRECOGNIZED, UNRECOGNIZED),
    }
}

pub fn fail_if(condition: bool, error: CudaError) -> CudaResult {
    if condition { Err(error) } else { Ok(()) }
}

/// Fails if the program passed a null pointer.
pub fn check_not_null<T>(place: *const T) -> CudaResult {
    fail_if(place.is_null(), CudaError::INVALID_VALUE)
}

pub fn put<T>(place: *mut T, value: T) -> CudaResult {
    check_not_null(place)?;
    // SAFETY: the CUDA API requires a valid pointer to `T`; null was ruled out.
    unsafe { place.write(value) };
    Ok(())
}

/// Stores a result unless the program passed a null pointer.
pub fn put_if_wanted<T>(place: *mut T, value: T) -> CudaResult {
    if place.is_null() {
        return Ok(());
    }
    put(place, value)
}

/// Dereferences a pointer from the program; fails if it is null.
pub fn given<'a, T>(place: *const T) -> Result<&'a T, CudaError> {
    // SAFETY: the program passes a valid structure or null.
    unsafe { place.as_ref() }.ok_or(CudaError::INVALID_VALUE)
}

/// Defines CUDA functions that return an error code, with bodies that return [`CudaResult`]. All names in a list are
/// exported with the same parameters: variants for programs with a per-thread default stream, for which a `stream` of 0
/// denotes that stream; old names; and functions whose additional arguments are ignored (the C calling convention of
/// x86-64 permits extra arguments).
///
/// `by_name:` is for functions without a stream parameter. The body receives the exported name, which determines the
/// default stream.
///
/// `in_stream KIND:` defines two families. Functions in the second take a stream as their last argument, and add a node
/// of that kind if the stream is being captured. The body receives the function's name, for messages, and the stream.
macro_rules! cuda {
    (in_stream $kind:ident: $(fn [$name:ident $($alias:ident)*] [$async_name:ident $($async_alias:ident)*]
        ($($argument:ident: $type:ty),* $(,)?) |$call:ident, $stream:ident| $body:block)*
    ) => {$(
        $crate::errors::cuda! { by_name:
            fn [$name $($alias)*]($($argument: $type),*) |exported| {
                let ($call, $stream) = (stringify!($name), $crate::streams::default_of(exported));
                $body
            }
        }
        $crate::errors::cuda! {
            fn [$async_name $($async_alias)*]($($argument: $type,)* $stream: *mut std::ffi::c_void) {
                let $call = stringify!($async_name);
                $crate::streams::graphs::submit($stream, $crate::streams::graphs::Kind::$kind, move |$stream| $body)
            }
        }
    )*};
    (by_name: $(fn [$($name:ident)+] $parameters:tt |$exported:ident| $body:block)*) => {$($(
        $crate::errors::cuda_function! { $name $parameters { let $exported = stringify!($name); $body } }
    )+)*};
    ($(fn [$($name:ident)+] $parameters:tt $body:block)*) => {$($(
        $crate::errors::cuda_function! { checked $name $parameters $body }
    )+)*};
}

macro_rules! cuda_function {
    (checked $name:ident ($($argument:ident : $type:ty),* $(,)?) $body:block) => {
        const _: () = assert!($crate::streams::can_have_name(stringify!($name), &[$(stringify!($argument)),*]));
        $crate::errors::cuda_function! { $name ($($argument: $type),*) $body }
    };
    ($name:ident ($($argument:ident : $type:ty),* $(,)?) $body:block) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// Pointers must meet the requirements of the CUDA documentation.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            $($crate::errors::resolve_stream! { $name $argument $argument })*
            let body = || -> $crate::errors::CudaResult { $body };
            $crate::errors::code_of($crate::runtime::begin_call().and_then(|()| body()))
        }
    };
}

/// Replaces a null `stream` with the function's default stream.
macro_rules! resolve_stream {
    ($name:ident $argument:ident stream) => {
        let $argument = $crate::streams::resolve_stream(stringify!($name), $argument);
    };
    ($name:ident $argument:ident $other:ident) => {};
}
pub(crate) use {cuda, cuda_function, resolve_stream};

/// `cudaGetLastError`: returns the last error of this host thread, and clears it unless it is sticky.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> c_int {
    last_error(true)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> c_int {
    last_error(false)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: c_int) -> *const c_char {
    describe(code).0.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: c_int) -> *const c_char {
    describe(code).1.as_ptr()
}

#[cfg(test)]
mod tests;
