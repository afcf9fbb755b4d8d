//! The functions that the program calls in place of libcudart's.
//!
//! Each passes its call on to the real function of the same name. Names that end in `_ptds` or `_ptsz` are what programs
//! compiled with a per-thread default stream call.

pub mod calls;
mod copies;
mod driver;
mod driver_copies;
pub mod ends;
mod fills;
mod functions;
mod graphs;
mod launches;
mod memory;
mod processes;
mod refused;
mod registration;
mod streams;

/// Where work is queued: the stream as given, and whether stream 0 means the thread's own one.
type At = (crate::cuda::ffi::Stream, bool);

/// Defines exported functions of one signature. `real` calls the real function with the same arguments, but for those that
/// it lists itself; `per_thread` says whether stream 0 means the thread's own stream.
///
/// `in_stream:` defines two families, of which the second has a stream as its last argument; the body gets an [`At`].
/// `driver:` stands before functions of libcuda, `nothing:` before functions of the runtime without a result.
macro_rules! interposed {
    (in_stream: $($names:tt $async_names:tt ($($argument:ident: $type:ty),* $(,)?) |$real:ident, $at:ident| $body:block)*) => {$(
        interposed! {
            $names($($argument: $type),*) |$real, per_thread| {
                let $at: super::At = (std::ptr::null_mut(), per_thread);
                $body
            }
            $async_names($($argument: $type,)* stream: $crate::cuda::ffi::Stream) |$real, per_thread| {
                let $at: super::At = (stream, per_thread);
                $body
            }
        }
    )*};
    (driver: $($names:tt $arguments:tt |$real:ident $(with $($other:ident)+)? $(, $flag:ident)?| $body:block)*) => {
        $(interposed!(@each_of $names $arguments
            [found_by($crate::cuda::driver::find) -> $crate::cuda::ffi::Error, NOT_INITIALIZED] [$real $(with $($other)+)? $(, $flag)?] $body);)*
    };
    (nothing: $($names:tt $arguments:tt |$real:ident $(with $($other:ident)+)?| $body:block)*) => {
        $(interposed!(@each_of $names $arguments [new() -> (), ()] [$real $(with $($other)+)?] $body);)*
    };
    (@each_of [$name:ident $(: $per_thread:literal)? $(, $($rest:tt)+)?] $arguments:tt $kind:tt $closure:tt $body:block) => {
        interposed!(@define $name, (false $(|| $per_thread)?), $arguments, $kind, $closure, $body);
        $(interposed!(@each_of [$($rest)+] $arguments $kind $closure $body);)?
    };
    (@define $name:ident, $per_thread:expr, ($($argument:ident: $type:ty),* $(,)?),
        [$entry:ident($($find:path)?) -> $result:ty, $otherwise:expr], [$real:ident $(with $($other:ident)+)? $(, $flag:ident)?],
        $body:block
    ) => {
        #[doc = concat!("Stands before CUDA's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of CUDA.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static ENTRY: $crate::cuda::real::Entry = {
                const NAME: &str = concat!(stringify!($name), "\0");
                match ::std::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()) {
                    Ok(name) => $crate::cuda::real::Entry::$entry(name $(, $find)?),
                    Err(_) => unreachable!(),
                }
            };
            let $real = |$($($other),+)?| $crate::cuda::real::call!(ENTRY, ($($argument => $type),*) -> $result, $otherwise);
            $(let $flag = $per_thread;)?
            $body
        }
    };
    ($($names:tt $arguments:tt |$real:ident $(with $($other:ident)+)? $(, $flag:ident)?| $body:block)*) => {
        $(interposed!(@each_of $names $arguments
            [new() -> $crate::cuda::ffi::Error, $crate::cuda::ffi::SYMBOL_NOT_FOUND] [$real $(with $($other)+)? $(, $flag)?] $body);)*
    };
}
pub use driver::replacement;
pub use driver_copies::{Copy3d, note_3d};
pub use fills::note_node as note_fill;
use interposed;
