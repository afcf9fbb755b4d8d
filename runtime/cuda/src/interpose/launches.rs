//! Kernel launches.

use super::{interposed, unless_probed};
use crate::cuda::{Stream, StreamArgument, Stub};
use crate::recorder::launch::{Arguments, Call, Form};
use crate::recorder::runtime::runtime;
use cudarc::runtime::sys::{cudaLaunchConfig_t, dim3};
use std::ffi::{c_uint, c_void};
use superstep_runtime_core::cuda::extents;

interposed! {
    [cudaLaunchKernel, cudaLaunchKernel_ptsz: true](
        function: Stub, grid: dim3, block: dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        let stream = StreamArgument { handle: stream, per_thread };
        Call::new(function, [extents(grid), extents(block)], shared_bytes, stream, arguments, &real).run()
    }
    [cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz: true](
        function: Stub, grid: dim3, block: dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        let stream = StreamArgument { handle: stream, per_thread };
        let call = Call::new(function, [extents(grid), extents(block)], shared_bytes, stream, arguments, &real);
        Call { form: Form::Cooperative, ..call }.run()
    }
    [cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz: true](config: *const cudaLaunchConfig_t, function: Stub, arguments: Arguments)
    |real with arguments, per_thread| {
        // SAFETY: the program passes a configuration, or null. Its attributes are not read.
        let Some(config) = (unsafe { config.as_ref() }) else {
            return real(arguments);
        };
        let form = if config.numAttrs == 0 { Form::Plain } else { Form::Extended };
        let shape = [extents(config.gridDim), extents(config.blockDim)];
        let stream = StreamArgument { handle: Stream::from_raw(config.stream.cast()), per_thread };
        let call = Call::new(function, shape, config.dynamicSmemBytes, stream, arguments, &real);
        Call { form, ..call }.run()
    }
    [cudaLaunchCooperativeKernelMultiDevice](parameters: *mut c_void, devices: c_uint, flags: c_uint) |real| {
        unless_probed("a launch on several devices (cudaLaunchCooperativeKernelMultiDevice)", real)
    }
    // A reset destroys the consumers' buffers and events, so the consumers are stopped first. `cudaThreadExit` is the old
    // name.
    [cudaDeviceReset, cudaThreadExit]() |real| {
        runtime().before_reset();
        real()
    }
}
