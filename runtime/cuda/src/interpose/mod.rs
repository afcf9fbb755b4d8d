//! The functions that the program calls in place of CUDA's.
//!
//! Each calls the real function of the same name. Functions whose names end in `_ptds` or `_ptsz` are for a per-thread
//! default stream.

mod calls;
mod copies;
mod dlsym;
mod driver;
mod ends;
mod graphs;
mod launches;
mod memory;
mod processes;
mod registration;
mod streams;

use crate::cuda::Status;
use crate::recorder::runtime::{runtime, session};

/// Defines exported functions that share a signature. `real` calls the real function with the same arguments, except
/// for those listed after `with`; `per_thread` indicates whether stream 0 means the thread's own stream.
///
/// `in_stream:` defines two families, the second of which takes a stream as the last argument; the body gets a
/// `StreamArgument`. `driver:` is for libcuda functions. `returning` is for runtime functions whose result is not a
/// status; it also specifies the result if libcudart lacks the function.
macro_rules! interposed {
    (in_stream: $($rest:tt)*) => { interposed!(@in_stream [] $($rest)*); };
    (driver in_stream: $($rest:tt)*) => { interposed!(@in_stream [driver:] $($rest)*); };
    (@in_stream $library:tt
        $($names:tt $async_names:tt ($($argument:ident: $type:ty),* $(,)?) |$real:ident, $into:ident| $body:block)*
    ) => {$(
        interposed!(@family $library $names ($($argument: $type),*) |$real, per_thread| {
            let $into = $crate::cuda::StreamArgument { handle: $crate::cuda::Stream::NULL, per_thread };
            $body
        });
        interposed!(@family $library $async_names ($($argument: $type,)* stream: $crate::cuda::Stream) |$real, per_thread| {
            let $into = $crate::cuda::StreamArgument { handle: stream, per_thread };
            $body
        });
    )*};
    (@family [$($library:tt)*] $($function:tt)*) => { interposed! { $($library)* $($function)* } };
    (driver: $($functions:tt)*) => {
        interposed! { @all [find_in_driver -> $crate::cuda::Status, $crate::cuda::Status::INITIALIZATION_ERROR] $($functions)* }
    };
    (returning $result:ty = $otherwise:expr; $($functions:tt)*) => {
        interposed! { @all [find_or_report -> $result, $otherwise] $($functions)* }
    };
    (@all $kind:tt
        $($names:tt $arguments:tt |$real:ident $(with $($other:ident)+)? $(, $flag:ident)?| $body:block)*
    ) => {
        $(interposed!(@each_of $names $arguments $kind [$real $(with $($other)+)? $(, $flag)?] $body);)*
    };
    (@each_of [$name:ident $(: $per_thread:literal)? $(, $($rest:tt)+)?] $arguments:tt $kind:tt $closure:tt $body:block) => {
        interposed!(@define $name, (false $(|| $per_thread)?), $arguments, $kind, $closure, $body);
        $(interposed!(@each_of [$($rest)+] $arguments $kind $closure $body);)?
    };
    (@define $name:ident, $per_thread:expr, ($($argument:ident: $type:ty),* $(,)?),
        [$find:ident -> $result:ty, $otherwise:expr], [$real:ident $(with $($other:ident)+)? $(, $flag:ident)?],
        $body:block
    ) => {
        #[doc = concat!("Interposes CUDA's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// The arguments must meet the contract of CUDA's function.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static ENTRY: $crate::cuda::Entry =
                $crate::cuda::Entry::new($crate::cuda::loader::$find, ::superstep_runtime_core::cuda::c_name(concat!(stringify!($name), "\0")));
            let $real = |$($($other),+)?| match ENTRY.address() {
                Some(address) => {
                    type Real = unsafe extern "C" fn($($type),*) -> $result;
                    // SAFETY: `address` is the address of the function with this name, which the program calls with
                    // these types.
                    let real = unsafe { ::std::mem::transmute::<*mut ::std::ffi::c_void, Real>(address) };
                    // SAFETY: the arguments are the program's, or equivalent to them.
                    unsafe { real($($argument),*) }
                }
                None => $otherwise,
            };
            $(let $flag = $per_thread;)?
            $body
        }
    };
    ($($functions:tt)*) => {
        interposed! { @all [find_or_report -> $crate::cuda::Status, $crate::cuda::Status::SYMBOL_NOT_FOUND] $($functions)* }
    };
}
use interposed;

/// Calls the real function, and runs `$record` if it succeeds.
macro_rules! then {
    ($real:ident, $record:expr) => {{
        let status = $real();
        if status.is_success() {
            $record;
        }
        status
    }};
}
use then;

/// Returns the value that a call has stored in `place`, if the call succeeded and `place` is not null.
fn stored<T: Copy>(status: Status, place: *const T) -> Option<T> {
    if !status.is_success() {
        return None;
    }
    // SAFETY: the call has just written to the place, unless it is null.
    unsafe { place.as_ref() }.copied()
}

/// Forwards a call that would run kernels without their probe's parameters. In a traced program, the call fails
/// instead, and a fault is reported.
fn unless_probed(what: &str, real: impl FnOnce() -> Status) -> Status {
    if !runtime().is_probed() {
        return real();
    }
    session().fault(format!(
        "{what} is not supported in a traced program; build the program without it"
    ));
    Status::NOT_SUPPORTED
}
