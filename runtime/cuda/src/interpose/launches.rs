//! Kernel launches.

use super::interposed;
use crate::cuda::ffi::{Dim3, LaunchConfig, Stream};
use crate::recorder::launch::{Call, Form, Origin};
use std::ffi::c_void;

type Arguments = *mut *mut c_void;

interposed! {
    [cudaLaunchKernel, cudaLaunchKernel_ptsz: true](
        function: *const c_void, grid: Dim3, block: Dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        Call { function, grid, block, arguments, shared_bytes, stream, per_thread, form: Form::Plain, is_drivers: false, launch: &real, origin: Origin::default() }.run()
    }
    [cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz: true](
        function: *const c_void, grid: Dim3, block: Dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        Call { function, grid, block, arguments, shared_bytes, stream, per_thread, form: Form::Cooperative, is_drivers: false, launch: &real, origin: Origin::default() }.run()
    }
    [cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz: true](
        config: *const LaunchConfig, function: *const c_void, arguments: Arguments,
    ) |real with arguments, per_thread| {
        // SAFETY: the program gives a configuration, or null.
        let Some(&LaunchConfig { grid, block, shared_bytes, stream, attribute_count, .. }) =
            (unsafe { config.as_ref() })
        else {
            return real(arguments);
        };
        let form = if attribute_count == 0 { Form::Plain } else { Form::Extended };
        Call { function, grid, block, arguments, shared_bytes, stream, per_thread, form, is_drivers: false, launch: &real, origin: Origin::default() }.run()
    }
    // A reset takes the consumers' buffers and events away, so they end first. The second is its old name.
    [cudaDeviceReset, cudaThreadExit]() |real| {
        crate::recorder::runtime::runtime().before_reset();
        real()
    }
}
