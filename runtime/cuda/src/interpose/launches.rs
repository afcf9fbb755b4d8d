//! Kernel launches, and queries about kernels. A kernel that no image in the program contains is reported as a fault.

use super::{interposed, unless_probed};
use crate::cuda::{Stream, StreamArgument, Stub};
use crate::recorder::launch::{Arguments, Call, Form, report_if_missing};
use crate::recorder::runtime::runtime;
use cudarc::runtime::sys::{cudaLaunchConfig_t, dim3};
use std::ffi::{c_char, c_int, c_uint, c_void};
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
        // SAFETY: the program passes a configuration or null. The configuration's attributes are not read.
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
    // A reset destroys the consumers' buffers and events, so the consumers are stopped first. `cudaThreadExit` is the
    // old name of `cudaDeviceReset`.
    [cudaDeviceReset, cudaThreadExit]() |real| {
        runtime().before_reset();
        real()
    }
}

interposed! {
    [cudaFuncGetAttributes](attributes: *mut c_void, function: Stub) |real| { report_if_missing(function, real()) }
    [cudaFuncSetAttribute](function: Stub, attribute: c_int, value: c_int) |real| { report_if_missing(function, real()) }
    [cudaFuncSetCacheConfig, cudaFuncSetSharedMemConfig](function: Stub, configuration: c_int) |real| { report_if_missing(function, real()) }
    [cudaFuncGetName](name: *mut *const c_char, function: Stub) |real| { report_if_missing(function, real()) }
    [cudaFuncGetParamInfo](function: Stub, parameter: usize, offset: *mut usize, bytes: *mut usize) |real| { report_if_missing(function, real()) }
    [cudaOccupancyMaxActiveBlocksPerMultiprocessor](
        ctas: *mut c_int, function: Stub, threads: c_int, shared_bytes: usize,
    ) |real| { report_if_missing(function, real()) }
    [cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags](
        ctas: *mut c_int, function: Stub, threads: c_int, shared_bytes: usize, flags: c_uint,
    ) |real| { report_if_missing(function, real()) }
    [cudaOccupancyAvailableDynamicSMemPerBlock](
        bytes: *mut usize, function: Stub, ctas: c_int, threads: c_int,
    ) |real| { report_if_missing(function, real()) }
    [cudaOccupancyMaxPotentialClusterSize, cudaOccupancyMaxActiveClusters](
        result: *mut c_int, function: Stub, config: *const c_void,
    ) |real| { report_if_missing(function, real()) }
}
