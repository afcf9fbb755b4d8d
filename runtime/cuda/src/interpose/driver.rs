//! Kernels' handles, and launches through the driver's own interface.
//!
//! A handle that the program asks for leads back to its kernel, which is then traced like any other. Kernels of modules that the
//! program loads itself were not built by Superstep; the run says that they are not traced. A program that looks a function of the
//! driver up in libcuda.so.1 by itself (`dlsym`) is not seen here.

use super::interposed;
use crate::ffi::{self, Dim3, Error, Stream};
use crate::launch::Call;
use crate::missing::noticed;
use crate::runtime::runtime;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `CUDA_ERROR_NOT_INITIALIZED`.
const NOT_INITIALIZED: Error = 3;

type Arguments = *mut *mut c_void;

/// `CUlaunchConfig`.
#[repr(C)]
pub struct DriverConfig {
    grid: Dim3,
    block: Dim3,
    shared_bytes: c_uint,
    stream: Stream,
    attributes: *mut c_void,
    attribute_count: c_uint,
}

fn known(error: Error, handle: *mut *mut c_void, stub: *const c_void) -> Error {
    if error == ffi::SUCCESS && !handle.is_null() {
        // SAFETY: the runtime has just written the handle there.
        let handle = unsafe { *handle } as usize;
        runtime().modules.lock().add_handle(handle, stub as usize);
    }
    noticed(stub, error)
}

/// A launch whose arguments may come in one block instead.
fn launch(call: &Call<'_>, extra: Arguments) -> Error {
    let traced = runtime()
        .kernel(call.function)
        .filter(|kernel| kernel.probe.is_some() && runtime().is_probed());
    if let Some(kernel) = traced.filter(|_| !extra.is_null()) {
        runtime().session.fault(format!(
            "failed to trace a launch of {}: its arguments come in one block (extra); give one pointer for each of them",
            kernel.name
        ));
        return ffi::NOT_SUPPORTED;
    }
    call.run()
}

interposed! { driver:
    [cuLaunchKernel, cuLaunchKernel_ptsz: true](
        function: *mut c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Stream, arguments: Arguments, extra: Arguments,
    ) |real with arguments, per_thread| {
        let grid = Dim3 { x: grid_x, y: grid_y, z: grid_z };
        let block = Dim3 { x: block_x, y: block_y, z: block_z };
        let shared_bytes = shared_bytes as usize;
        let call = Call { function, grid, block, arguments, shared_bytes, stream, per_thread, is_plain: false, launch: &real };
        launch(&call, extra)
    }
    [cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz: true](
        function: *mut c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Stream, arguments: Arguments,
    ) |real with arguments, per_thread| {
        let grid = Dim3 { x: grid_x, y: grid_y, z: grid_z };
        let block = Dim3 { x: block_x, y: block_y, z: block_z };
        let shared_bytes = shared_bytes as usize;
        Call { function, grid, block, arguments, shared_bytes, stream, per_thread, is_plain: false, launch: &real }.run()
    }
    [cuLaunchKernelEx, cuLaunchKernelEx_ptsz: true](
        config: *const DriverConfig, function: *mut c_void, arguments: Arguments, extra: Arguments,
    ) |real with arguments, per_thread| {
        // SAFETY: the program gives a configuration, or null.
        let Some(&DriverConfig { grid, block, shared_bytes, stream, .. }) = (unsafe { config.as_ref() }) else {
            return real(arguments);
        };
        let shared_bytes = shared_bytes as usize;
        let call = Call { function, grid, block, arguments, shared_bytes, stream, per_thread, is_plain: false, launch: &real };
        launch(&call, extra)
    }
}

/// Puts our function in the place of the driver's that the program asked for.
fn entry(
    error: Error,
    symbol: *const c_char,
    function: *mut *mut c_void,
    flags: u64,
    per_thread: bool,
) -> Error {
    /// `cudaEnablePerThreadDefaultStream`.
    const PER_THREAD: u64 = 2;
    if error != ffi::SUCCESS || symbol.is_null() || function.is_null() || !runtime().is_probed() {
        return error;
    }
    let per_thread = flags & PER_THREAD != 0 || per_thread && flags == 0;
    // SAFETY: the program gives a zero-terminated name.
    let ours: *const c_void = match (unsafe { CStr::from_ptr(symbol) }.to_bytes(), per_thread) {
        (b"cuLaunchKernel", false) => cuLaunchKernel as *const c_void,
        (b"cuLaunchKernel", true) => cuLaunchKernel_ptsz as *const c_void,
        (b"cuLaunchKernelEx", false) => cuLaunchKernelEx as *const c_void,
        (b"cuLaunchKernelEx", true) => cuLaunchKernelEx_ptsz as *const c_void,
        (b"cuLaunchCooperativeKernel", false) => cuLaunchCooperativeKernel as *const c_void,
        (b"cuLaunchCooperativeKernel", true) => cuLaunchCooperativeKernel_ptsz as *const c_void,
        _ => return error,
    };
    // SAFETY: the runtime has just written a function there.
    unsafe {
        if !(*function).is_null() {
            *function = ours.cast_mut();
        }
    }
    error
}

interposed! {
    [cudaGetFuncBySymbol, cudaGetKernel](handle: *mut *mut c_void, stub: *const c_void) |real| {
        known(real(), handle, stub)
    }
    [cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut c_int,
    ) |real, per_thread| { entry(real(), symbol, function, flags, per_thread) }

    [cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, version: c_uint, flags: u64, status: *mut c_int,
    ) |real, per_thread| { entry(real(), symbol, function, flags, per_thread) }
}
