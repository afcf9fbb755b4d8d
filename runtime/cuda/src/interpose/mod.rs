//! The functions that the program calls in place of libcudart's.
//!
//! Each passes its call on to the real function of the same name. Names that end in `_ptds` or `_ptsz` are what programs
//! compiled with a per-thread default stream call.

mod copies;
mod driver;
mod fills;
mod functions;
mod graphs;
mod launches;
mod memory;
mod refused;
mod registration;
mod streams;

/// Defines exported functions of one signature. `real` calls the real function with the same arguments; `per_thread`
/// says whether stream 0 means the thread's own stream.
macro_rules! interposed {
    ($($names:tt $arguments:tt |$real:ident, $flag:ident| $body:block)*) => {
        $(interposed!(@each_of $names $arguments $real $flag $body);)*
    };
    (@each_of [$name:ident $(: $per_thread:literal)? $(, $($rest:tt)+)?] $arguments:tt $real:ident $flag:ident $body:block) => {
        interposed!(@define $name, (false $(|| $per_thread)?), $arguments, $real, $flag, $body);
        $(interposed!(@each_of [$($rest)+] $arguments $real $flag $body);)?
    };
    (@define $name:ident, $per_thread:expr, ($($argument:ident: $type:ty),* $(,)?), $real:ident, $flag:ident, $body:block) => {
        #[doc = concat!("Stands before libcudart's `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As for the function of the CUDA runtime.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the names of the C interface")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::ffi::Error {
            static ENTRY: $crate::real::Entry = {
                const NAME: &str = concat!(stringify!($name), "\0");
                match ::std::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()) {
                    Ok(name) => $crate::real::Entry::new(name),
                    Err(_) => unreachable!(),
                }
            };
            let $real = || $crate::real::call!(
                ENTRY, ($($argument => $type),*) -> $crate::ffi::Error, $crate::ffi::SYMBOL_NOT_FOUND
            );
            let $flag = $per_thread;
            $body
        }
    };
}
use interposed;
