//! Kernels' handles, and launches through the driver's own interface.
//!
//! A handle that the program asks for leads back to its kernel, which is then traced like any other. Kernels of modules that the
//! program loads itself, and of closed libraries, were not built by Superstep: their launches are opaque.

use super::driver_copies::*;
use super::interposed;
use super::memory::*;
use super::processes::*;
use crate::cuda::driver;
use crate::cuda::ffi::{self, Dim3, Error, GraphExec, Stream};
use crate::model::missing::noticed;
use crate::recorder::launch::{Call, Form, Origin};
use crate::recorder::opaque;
use crate::recorder::runtime::runtime;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `CUDA_ERROR_NOT_INITIALIZED`.
pub(super) const NOT_INITIALIZED: Error = 3;

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
        let call = Call { function, grid, block, arguments, shared_bytes, stream, per_thread, form: Form::Extended, is_drivers: true, launch: &real, origin: Origin::default() };
        launch(&call, extra)
    }
    [cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz: true](
        function: *mut c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Stream, arguments: Arguments,
    ) |real with arguments, per_thread| {
        let grid = Dim3 { x: grid_x, y: grid_y, z: grid_z };
        let block = Dim3 { x: block_x, y: block_y, z: block_z };
        let shared_bytes = shared_bytes as usize;
        Call { function, grid, block, arguments, shared_bytes, stream, per_thread, form: Form::Cooperative, is_drivers: true, launch: &real, origin: Origin::default() }.run()
    }
    [cuLaunchKernelEx, cuLaunchKernelEx_ptsz: true](
        config: *const DriverConfig, function: *mut c_void, arguments: Arguments, extra: Arguments,
    ) |real with arguments, per_thread| {
        // SAFETY: the program gives a configuration, or null.
        let Some(&DriverConfig { grid, block, shared_bytes, stream, .. }) = (unsafe { config.as_ref() }) else {
            return real(arguments);
        };
        let shared_bytes = shared_bytes as usize;
        let call = Call { function, grid, block, arguments, shared_bytes, stream, per_thread, form: Form::Extended, is_drivers: true, launch: &real, origin: Origin::default() };
        launch(&call, extra)
    }
}

/// Lists what we have in the place of the driver's functions: the name for `cuGetProcAddress`, the symbol, and that for which stream 0
/// is the thread's own.
macro_rules! replacements {
    ($($name:ident = $plain:ident $(, $own:ident)?;)*) => {
        /// Ours in the place of the driver's `symbol`.
        pub fn replacement(symbol: &[u8]) -> Option<*const c_void> {
            $(
                if symbol == stringify!($plain).as_bytes() {
                    return Some($plain as *const c_void);
                }
                $(
                    if symbol == stringify!($own).as_bytes() {
                        return Some($own as *const c_void);
                    }
                )?
            )*
            None
        }

        fn replacement_by_name(name: &[u8], per_thread: bool) -> Option<*const c_void> {
            $(
                if name == stringify!($name).as_bytes() {
                    $(
                        if per_thread {
                            return Some($own as *const c_void);
                        }
                    )?
                    return Some($plain as *const c_void);
                }
            )*
            replacement(name)
        }
    };
}

replacements! {
    cuGetProcAddress = cuGetProcAddress;
    cuGetProcAddress_v2 = cuGetProcAddress_v2;
    cuLaunchKernel = cuLaunchKernel, cuLaunchKernel_ptsz;
    cuLaunchKernelEx = cuLaunchKernelEx, cuLaunchKernelEx_ptsz;
    cuLaunchCooperativeKernel = cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz;
    cuGraphLaunch = cuGraphLaunch, cuGraphLaunch_ptsz;
    cuModuleGetFunction = cuModuleGetFunction;
    cuLibraryGetKernel = cuLibraryGetKernel;
    cuKernelGetFunction = cuKernelGetFunction;
    cuIpcGetMemHandle = cuIpcGetMemHandle;
    cuIpcOpenMemHandle = cuIpcOpenMemHandle_v2;
    cuIpcCloseMemHandle = cuIpcCloseMemHandle;
    cuMemExportToShareableHandle = cuMemExportToShareableHandle;
    cuMemImportFromShareableHandle = cuMemImportFromShareableHandle;
    cuMemRelease = cuMemRelease;
    cuMemMap = cuMemMap;
    cuMemUnmap = cuMemUnmap;
    cuMemAlloc = cuMemAlloc_v2;
    cuMemAllocAsync = cuMemAllocAsync, cuMemAllocAsync_ptsz;
    cuMemAllocFromPoolAsync = cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz;
    cuMemAllocPitch = cuMemAllocPitch_v2;
    cuMemAllocManaged = cuMemAllocManaged;
    cuMemAllocHost = cuMemAllocHost_v2;
    cuMemHostAlloc = cuMemHostAlloc;
    cuMemHostRegister = cuMemHostRegister_v2;
    cuMemHostUnregister = cuMemHostUnregister;
    cuMemFree = cuMemFree_v2;
    cuMemFreeHost = cuMemFreeHost;
    cuMemFreeAsync = cuMemFreeAsync, cuMemFreeAsync_ptsz;
    cuMemcpy = cuMemcpy, cuMemcpy_ptds;
    cuMemcpyAsync = cuMemcpyAsync, cuMemcpyAsync_ptsz;
    cuMemcpyHtoD = cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds;
    cuMemcpyHtoDAsync = cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz;
    cuMemcpyDtoH = cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds;
    cuMemcpyDtoHAsync = cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz;
    cuMemcpyDtoD = cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds;
    cuMemcpyDtoDAsync = cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz;
    cuMemcpy2D = cuMemcpy2D_v2, cuMemcpy2D_v2_ptds;
    cuMemcpy2DUnaligned = cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds;
    cuMemcpy2DAsync = cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz;
    cuMemsetD8 = cuMemsetD8_v2, cuMemsetD8_v2_ptds;
    cuMemsetD8Async = cuMemsetD8Async, cuMemsetD8Async_ptsz;
    cuMemsetD16 = cuMemsetD16_v2, cuMemsetD16_v2_ptds;
    cuMemsetD16Async = cuMemsetD16Async, cuMemsetD16Async_ptsz;
    cuMemsetD32 = cuMemsetD32_v2, cuMemsetD32_v2_ptds;
    cuMemsetD32Async = cuMemsetD32Async, cuMemsetD32Async_ptsz;
}

/// Puts our function in the place of the driver's that was asked for.
///
/// # Safety
/// `symbol` is a zero-terminated name or null, `function` leads to a pointer or is null.
unsafe fn entry(
    error: Error,
    symbol: *const c_char,
    function: *mut *mut c_void,
    flags: u64,
    per_thread: bool,
) -> Error {
    /// `cudaEnablePerThreadDefaultStream`, `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
    const PER_THREAD: u64 = 2;
    if error != ffi::SUCCESS || symbol.is_null() || function.is_null() {
        return error;
    }
    let per_thread = flags & PER_THREAD != 0 || per_thread && flags == 0;
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(symbol) }.to_bytes();
    // SAFETY: the caller's promise; the driver has just written a function there, if there is one.
    let found = unsafe { &mut *function };
    let ours = match name {
        // This name stands for either of two, by the version of CUDA that the caller was built for.
        b"cuGetProcAddress" if Some(*found) == driver::find(c"cuGetProcAddress_v2") => {
            Some(cuGetProcAddress_v2 as *const c_void)
        }
        name => replacement_by_name(name, per_thread),
    };
    if let Some(ours) = ours.filter(|_| !found.is_null()) {
        *found = ours.cast_mut();
    }
    error
}

interposed! {
    [cudaGetFuncBySymbol, cudaGetKernel](handle: *mut *mut c_void, stub: *const c_void) |real| {
        known(real(), handle, stub)
    }
    [cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut c_int,
    ) |real, per_thread| {
        // SAFETY: the program gives a name, and room for a pointer.
        unsafe { entry(real(), symbol, function, flags, per_thread) }
    }
    [cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, version: c_uint, flags: u64, status: *mut c_int,
    ) |real, per_thread| {
        // SAFETY: the program gives a name, and room for a pointer.
        unsafe { entry(real(), symbol, function, flags, per_thread) }
    }
}

interposed! { driver:
    [cuGetProcAddress](symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64) |real| {
        // SAFETY: the caller gives a name, and room for a pointer.
        unsafe { entry(real(), symbol, function, flags, false) }
    }
    [cuGetProcAddress_v2](
        symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64, status: *mut c_int,
    ) |real| {
        // SAFETY: the caller gives a name, and room for a pointer.
        unsafe { entry(real(), symbol, function, flags, false) }
    }
    [cuGraphLaunch, cuGraphLaunch_ptsz: true](instance: GraphExec, stream: Stream) |real, per_thread| {
        opaque::launch_graph(instance, stream, per_thread, real)
    }
    [cuModuleGetFunction, cuLibraryGetKernel](handle: *mut *mut c_void, module: *mut c_void, name: *const c_char) |real| {
        let error = real();
        if error == ffi::SUCCESS {
            opaque::named(handle, name);
        }
        error
    }
    [cuKernelGetFunction](function: *mut *mut c_void, kernel: *mut c_void) |real| {
        let error = real();
        if error == ffi::SUCCESS {
            opaque::named_as(function, kernel);
        }
        error
    }
}
