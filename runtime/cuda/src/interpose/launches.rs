//! Kernel launches.

use super::{interposed, unless_probed};
use crate::cuda::{Status, Stream, StreamArgument, Stub};
use crate::recorder::launch::{Call, Form, Origin};
use crate::recorder::runtime::runtime;
use std::ffi::{c_uint, c_void};
use superstep_runtime_core::cuda::{Dim3, LaunchConfig};

pub(super) type Arguments = *mut *mut c_void;

/// Grid, CTA, dynamic shared memory and stream of a launch.
pub(super) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: usize,
    pub stream: Stream,
}

pub(super) fn call(
    stub: Stub,
    shape: Shape,
    per_thread: bool,
    form: Form,
    arguments: Arguments,
    launch: &dyn Fn(Arguments) -> Status,
) -> Call<'_> {
    Call {
        stub,
        grid: shape.grid,
        block: shape.block,
        arguments,
        shared_bytes: shape.shared_bytes,
        stream: StreamArgument {
            handle: shape.stream,
            per_thread,
        },
        form,
        is_drivers: false,
        launch,
        origin: Origin::default(),
    }
}

interposed! {
    [cudaLaunchKernel, cudaLaunchKernel_ptsz: true](
        function: Stub, grid: Dim3, block: Dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        let shape = Shape { grid: grid.into(), block: block.into(), shared_bytes, stream };
        call(function, shape, per_thread, Form::Plain, arguments, &real).run()
    }
    [cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz: true](
        function: Stub, grid: Dim3, block: Dim3, arguments: Arguments, shared_bytes: usize, stream: Stream,
    ) |real with arguments, per_thread| {
        let shape = Shape { grid: grid.into(), block: block.into(), shared_bytes, stream };
        call(function, shape, per_thread, Form::Cooperative, arguments, &real).run()
    }
    [cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz: true](config: *const LaunchConfig, function: Stub, arguments: Arguments)
    |real with arguments, per_thread| {
        // SAFETY: the program gives a configuration, or null.
        let Some(&LaunchConfig { grid, block, shared_bytes, stream, attribute_count, .. }) = (unsafe { config.as_ref() }) else {
            return real(arguments);
        };
        let form = if attribute_count == 0 { Form::Plain } else { Form::Extended };
        let shape = Shape { grid: grid.into(), block: block.into(), shared_bytes, stream: Stream::from_raw(stream) };
        call(function, shape, per_thread, form, arguments, &real).run()
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
