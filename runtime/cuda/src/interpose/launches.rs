//! Kernel launches.

use super::{interposed, unless_probed};
use crate::cuda::{Stream, StreamArgument, Stub};
use crate::recorder::launch::{Arguments, Call, Form};
use crate::recorder::runtime::runtime;
use std::ffi::{c_uint, c_void};
use superstep_runtime_core::cuda::{Dim3, LaunchConfig};

interposed! {
    [cudaLaunchKernel, cudaLaunchKernel_ptsz: true](
        function: Stub, grid: Dim3, block: Dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        let stream = StreamArgument { handle: stream, per_thread };
        Call::new(function, [grid.into(), block.into()], shared_bytes, stream, arguments, &real).run()
    }
    [cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz: true](
        function: Stub, grid: Dim3, block: Dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        let stream = StreamArgument { handle: stream, per_thread };
        let call = Call::new(function, [grid.into(), block.into()], shared_bytes, stream, arguments, &real);
        Call { form: Form::Cooperative, ..call }.run()
    }
    [cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz: true](config: *const LaunchConfig, function: Stub, arguments: Arguments)
    |real with arguments, per_thread| {
        // SAFETY: the program gives a configuration, or null.
        let Some(&LaunchConfig { grid, block, shared_bytes, stream, attribute_count, .. }) = (unsafe { config.as_ref() }) else {
            return real(arguments);
        };
        let form = if attribute_count == 0 { Form::Plain } else { Form::Extended };
        let stream = StreamArgument { handle: Stream::from_raw(stream), per_thread };
        let call = Call::new(function, [grid.into(), block.into()], shared_bytes, stream, arguments, &real);
        Call { form, ..call }.run()
    }
    [cudaLaunchCooperativeKernelMultiDevice](parameters: *mut c_void, devices: c_uint, flags: c_uint) |real| {
        unless_probed("a launch on several devices (cudaLaunchCooperativeKernelMultiDevice)", real)
    }
    // A reset takes the consumers' buffers and events away, so they end first. The second is its old name.
    [cudaDeviceReset, cudaThreadExit]() |real| {
        runtime().before_reset();
        real()
    }
}
