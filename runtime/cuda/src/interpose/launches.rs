//! Kernel launches.

use super::interposed;
use crate::ffi::{Error, LaunchConfig, Stream, dim3};
use crate::launch::Call;
use crate::real::{Entry, call};
use std::ffi::c_void;

type Arguments = *mut *mut c_void;

macro_rules! launches {
    ($($name:ident as $export:literal, $per_thread:literal, $is_plain:literal;)*) => {
        $(
            #[doc = concat!("Stands before libcudart's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As for the function of the CUDA runtime.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the names of the C interface")]
            pub unsafe extern "C" fn $name(
                function: *const c_void, grid: dim3, block: dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
            ) -> Error {
                static ENTRY: Entry = Entry::new($export);
                let launch = |arguments: Arguments| call!(
                    ENTRY,
                    (function => *const c_void, grid => dim3, block => dim3, arguments => Arguments, shared_bytes => usize,
                        stream => Stream) -> Error,
                    crate::ffi::SYMBOL_NOT_FOUND
                );
                let (per_thread, is_plain) = ($per_thread, $is_plain);
                Call { function, grid, block, arguments, shared_bytes, stream, per_thread, is_plain, launch: &launch }.run()
            }
        )*
    };
}

launches! {
    cudaLaunchKernel as c"cudaLaunchKernel", false, true;
    cudaLaunchKernel_ptsz as c"cudaLaunchKernel_ptsz", true, true;
    cudaLaunchCooperativeKernel as c"cudaLaunchCooperativeKernel", false, false;
    cudaLaunchCooperativeKernel_ptsz as c"cudaLaunchCooperativeKernel_ptsz", true, false;
}

macro_rules! extensible_launches {
    ($($name:ident as $export:literal, $per_thread:literal;)*) => {
        $(
            #[doc = concat!("Stands before libcudart's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As for the function of the CUDA runtime.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the names of the C interface")]
            pub unsafe extern "C" fn $name(
                config: *const LaunchConfig, function: *const c_void, arguments: Arguments,
            ) -> Error {
                static ENTRY: Entry = Entry::new($export);
                let launch = |arguments: Arguments| call!(
                    ENTRY,
                    (config => *const LaunchConfig, function => *const c_void, arguments => Arguments) -> Error,
                    crate::ffi::SYMBOL_NOT_FOUND
                );
                if config.is_null() {
                    return launch(arguments);
                }
                // SAFETY: the program gives a configuration.
                let LaunchConfig { grid, block, dynamic_shared_bytes, stream, attribute_count, .. } = unsafe { &*config };
                Call {
                    function,
                    grid: *grid,
                    block: *block,
                    arguments,
                    shared_bytes: *dynamic_shared_bytes,
                    stream: *stream,
                    per_thread: $per_thread,
                    is_plain: *attribute_count == 0,
                    launch: &launch,
                }
                .run()
            }
        )*
    };
}

extensible_launches! {
    cudaLaunchKernelExC as c"cudaLaunchKernelExC", false;
    cudaLaunchKernelExC_ptsz as c"cudaLaunchKernelExC_ptsz", true;
}

interposed! {
    // A reset takes the consumers' buffers and events away, so they end first. The second is its old name.
    [cudaDeviceReset, cudaThreadExit]() |real, _per_thread| {
        crate::runtime::runtime().before_reset();
        real()
    }
}
