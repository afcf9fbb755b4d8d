//! CUDA's error codes: the last error of each host thread, errors that stick, names and texts.

use crate::error_table::ERRORS;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};
use superstep_runtime_core::is_used_fork;

/// An error code of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError(pub c_int);

impl CudaError {
    /// A parameter is out of range.
    pub const INVALID_VALUE: CudaError = CudaError(1);
    pub const MEMORY_ALLOCATION: CudaError = CudaError(2);
    /// The runtime could not start, or belongs to the parent process.
    pub const INITIALIZATION: CudaError = CudaError(3);
    /// The process ends, and CUDA is gone already.
    pub const CUDART_UNLOADING: CudaError = CudaError(4);
    /// Grid or block of a launch is out of range.
    pub const INVALID_CONFIGURATION: CudaError = CudaError(9);
    /// A pitch is too small or too large.
    pub const INVALID_PITCH: CudaError = CudaError(12);
    pub const INVALID_SYMBOL: CudaError = CudaError(13);
    /// A copy direction does not exist.
    pub const INVALID_MEMCPY_DIRECTION: CudaError = CudaError(21);
    pub const MISSING_CONFIGURATION: CudaError = CudaError(52);
    pub const INVALID_DEVICE_FUNCTION: CudaError = CudaError(98);
    pub const INVALID_DEVICE: CudaError = CudaError(101);
    /// Not a stream or event.
    pub const INVALID_RESOURCE_HANDLE: CudaError = CudaError(400);
    /// A call does not fit what a stream or graph is doing.
    pub const ILLEGAL_STATE: CudaError = CudaError(401);
    /// An event was not recorded.
    pub const NOT_READY: CudaError = CudaError(600);
    /// A kernel accessed memory that it may not access.
    pub const ILLEGAL_ADDRESS: CudaError = CudaError(700);
    /// Access to a peer is allowed already.
    pub const PEER_ACCESS_ALREADY_ENABLED: CudaError = CudaError(704);
    /// Access to a peer was not allowed.
    pub const PEER_ACCESS_NOT_ENABLED: CudaError = CudaError(705);
    /// The same host memory was registered twice.
    pub const HOST_MEMORY_ALREADY_REGISTERED: CudaError = CudaError(712);
    /// The host memory was not registered.
    pub const HOST_MEMORY_NOT_REGISTERED: CudaError = CudaError(713);
    /// `assert` failed in a kernel.
    pub const ASSERT: CudaError = CudaError(710);
    /// A kernel used an address that is no multiple of what the access needs.
    pub const MISALIGNED_ADDRESS: CudaError = CudaError(716);
    /// A kernel failed in another way.
    pub const LAUNCH_FAILURE: CudaError = CudaError(719);
    /// A cooperative launch asks for more CTAs than can run together.
    pub const COOPERATIVE_LAUNCH_TOO_LARGE: CudaError = CudaError(720);
    /// The stream is being captured, and the call cannot become part of a graph.
    pub const STREAM_CAPTURE_UNSUPPORTED: CudaError = CudaError(900);
    /// A capture was ended in a stream where it did not begin.
    pub const STREAM_CAPTURE_UNMATCHED: CudaError = CudaError(903);
    /// An instance of a graph and the graph it was to be updated from differ.
    pub const GRAPH_EXEC_UPDATE_FAILURE: CudaError = CudaError(910);
    /// The operation does not exist here.
    pub const NOT_SUPPORTED: CudaError = CudaError(801);
}

/// What the functions behind the CUDA calls return.
pub type CudaResult = Result<(), CudaError>;

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// The error that a failed kernel left behind; every later call returns it. 0: none.
static STICKY: AtomicI32 = AtomicI32::new(0);

/// Makes `error` the answer to every later call.
pub fn set_sticky(error: CudaError) {
    let _ = STICKY.compare_exchange(0, error.0, Ordering::SeqCst, Ordering::SeqCst);
}

/// Forgets a sticky error (`cudaDeviceReset`).
pub fn clear_sticky() {
    STICKY.store(0, Ordering::SeqCst);
}

/// The sticky error as a result. In a fork of a process that had used CUDA, nothing works, as on a GPU.
pub fn check_sticky() -> CudaResult {
    if is_used_fork() {
        return Err(CudaError::INITIALIZATION);
    }
    match STICKY.load(Ordering::SeqCst) {
        0 => Ok(()),
        code => Err(CudaError(code)),
    }
}

/// Turns the result of a call into the code that it returns, and remembers an error for `cudaGetLastError`.
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

/// Name and text of a code, if CUDA knows it.
fn describe(code: c_int) -> Option<(&'static CStr, &'static CStr)> {
    let index = ERRORS.binary_search_by_key(&code, |row| row.0).ok()?;
    ERRORS.get(index).map(|&(_, name, text)| (name, text))
}

/// Writes a result through a pointer that the program gave.
pub fn put<T>(place: *mut T, value: T) -> CudaResult {
    if place.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the CUDA API asks the caller for a valid pointer to `T`; null was ruled out.
    unsafe { place.write(value) };
    Ok(())
}

/// Defines CUDA functions that return an error code: each body is a closure that returns [`CudaResult`]. All names of a list are exported
/// with the same parameters: CUDA's variants for programs whose default stream is the host thread's own, for which 0 in a parameter
/// `stream` is that; old names; and functions whose further arguments do not matter (by the C calling convention of x86-64, a function may
/// be called with more).
///
/// `in_stream KIND:` defines two families, of which the second has a stream as its last argument, and becomes a node of that kind when the
/// stream is being captured. The body gets the function's name, for messages, and the stream.
macro_rules! cuda {
    (in_stream $kind:ident: $($(#[$meta:meta])* fn [$name:ident $($alias:ident)*] [$async_name:ident $($async_alias:ident)*]
        ($($argument:ident: $type:ty),* $(,)?) |$call:ident, $stream:ident| $body:block)*
    ) => {$(
        $crate::errors::in_default_stream! {
            [$(#[$meta])*] $name [$name $($alias)*] ($($argument: $type),*) |$call, $stream| $body
        }
        $crate::errors::cuda! {
            $(#[$meta])*
            fn [$async_name $($async_alias)*]($($argument: $type,)* $stream: *mut std::ffi::c_void) {
                let $call = stringify!($async_name);
                $crate::streams::graphs::submit($stream, $crate::streams::graphs::Kind::$kind, move |$stream| $body)
            }
        }
    )*};
    ($($(#[$meta:meta])* fn [$name:ident $($alias:ident)*] $parameters:tt $body:block)*) => {$(
        $crate::errors::cuda_function! { [$(#[$meta])*] $name $parameters $body }
        $($crate::errors::cuda_alias! { $alias $name $parameters })*
    )*};
}

/// The functions of `cuda! { in_stream …` that have no parameter for the stream.
macro_rules! in_default_stream {
    ($meta:tt $call_name:ident [$($name:ident)*] $parameters:tt |$call:ident, $stream:ident| $body:block) => {$(
        $crate::errors::cuda_function! { $meta $name $parameters {
            let ($call, $stream) = (stringify!($call_name), $crate::streams::default_of(stringify!($name)));
            $body
        } }
    )*};
}

macro_rules! cuda_function {
    ([$(#[$meta:meta])*] $name:ident ($($argument:ident : $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// Pointers must be what the CUDA documentation asks for.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            let body = || -> $crate::errors::CudaResult { $body };
            $crate::errors::code_of($crate::runtime::begin_call().and_then(|()| body()))
        }
    };
}

/// Another name for a function of [`cuda`].
macro_rules! cuda_alias {
    ($alias:ident $name:ident ($($argument:ident : $type:ty),* $(,)?)) => {
        #[doc = concat!("The same as [`", stringify!($name), "`], in the default stream that the name says.")]
        ///
        /// # Safety
        /// Pointers must be what the CUDA documentation asks for.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $alias($($argument: $type),*) -> std::ffi::c_int {
            const { assert!($crate::streams::may_be_alias(stringify!($alias), &[$(stringify!($argument)),*])) };
            // SAFETY: the caller's promise is the same.
            unsafe { $name($($crate::errors::as_given_to!($alias $argument $argument)),*) }
        }
    };
}

/// The argument of an alias that the function gets.
macro_rules! as_given_to {
    ($alias:ident $argument:ident stream) => {
        $crate::streams::as_given_to(stringify!($alias), $argument)
    };
    ($alias:ident $argument:ident $other:ident) => {
        $argument
    };
}
pub(crate) use {as_given_to, cuda, cuda_alias, cuda_function, in_default_stream};

/// `cudaGetLastError`: the last error of this host thread, and forgets it unless it sticks.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> c_int {
    last_error(true)
}

/// `cudaPeekAtLastError`: the last error of this host thread.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> c_int {
    last_error(false)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: c_int) -> *const c_char {
    describe(code)
        .map_or(UNRECOGNIZED, |(name, _)| name)
        .as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: c_int) -> *const c_char {
    describe(code)
        .map_or(UNRECOGNIZED, |(_, text)| text)
        .as_ptr()
}

#[cfg(test)]
mod tests;
