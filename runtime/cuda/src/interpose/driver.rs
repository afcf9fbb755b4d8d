//! Kernel handles, and launches through the driver API.
//!
//! Handles that the program obtains are mapped back to their kernels, which are then traced as usual. Launches of
//! kernels that Superstep did not build, in proprietary libraries or modules loaded by the program, are opaque.

use super::copies::*;
use super::memory::*;
use super::processes::*;
use super::{interposed, stored};
use crate::cuda::loader::find_in_driver;
use crate::cuda::{GraphExec, Module, Status, Stream, StreamArgument, Stub};
use crate::recorder::launch::opaque;
use crate::recorder::launch::{Arguments, Call, Form, report_if_missing};
use crate::recorder::runtime::{runtime, session};
use cudarc::driver::sys::CUlaunchConfig;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use superstep_runtime_core::cuda::text;

/// Records the handle that the program obtained for the kernel with this stub.
fn record_handle(status: Status, handle: *mut Stub, stub: Stub) -> Status {
    if let Some(handle) = stored(status, handle) {
        runtime().modules.lock().handles.insert(handle, stub);
    }
    report_if_missing(stub, status)
}

fn launch(call: Call<'_>, form: Form) -> Status {
    let is_driver_call = true;
    Call {
        form,
        is_driver_call,
        ..call
    }
    .run()
}

/// Launches a kernel whose arguments may be passed as a single block, `extra`. Recorded kernels do not support this.
fn launch_with_extra(call: Call<'_>, extra: Arguments) -> Status {
    let recorded = runtime()
        .kernel(call.stub)
        .filter(|kernel| kernel.probe.is_some() && runtime().is_probed());
    if let Some(kernel) = recorded.filter(|_| !extra.is_null()) {
        session().fault(format!(
            "failed to trace a launch of {}: its arguments are passed as a single block (extra); pass one pointer per argument",
            kernel.name
        ));
        return Status::NOT_SUPPORTED;
    }
    launch(call, Form::Extended)
}

interposed! { driver:
    [cuLaunchKernel, cuLaunchKernel_ptsz: true](
        function: Stub, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Stream, arguments: Arguments, extra: Arguments,
    ) |real with arguments, per_thread| {
        let [grid, block] = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        let stream = StreamArgument { handle: stream, per_thread };
        launch_with_extra(Call::new(function, [grid, block], shared_bytes as usize, stream, arguments, &real), extra)
    }
    [cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz: true](
        function: Stub, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Stream, arguments: Arguments,
    ) |real with arguments, per_thread| {
        let [grid, block] = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]];
        let stream = StreamArgument { handle: stream, per_thread };
        launch(Call::new(function, [grid, block], shared_bytes as usize, stream, arguments, &real), Form::Cooperative)
    }
    [cuLaunchKernelEx, cuLaunchKernelEx_ptsz: true](
        config: *const CUlaunchConfig, function: Stub, arguments: Arguments, extra: Arguments,
    ) |real with arguments, per_thread| {
        // SAFETY: the program passes a configuration or null. The configuration's attributes are not read.
        let Some(config) = (unsafe { config.as_ref() }) else {
            return real(arguments);
        };
        let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
        let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
        let stream = StreamArgument { handle: Stream::from_raw(config.hStream.cast()), per_thread };
        let shared_bytes = config.sharedMemBytes as usize;
        launch_with_extra(Call::new(function, [grid, block], shared_bytes, stream, arguments, &real), extra)
    }
}

macro_rules! replacements {
    ($($name:ident)*) => {
        pub fn replacement(symbol: &[u8]) -> Option<*const c_void> {
            $(
                if symbol == stringify!($name).as_bytes() {
                    return Some($name as *const c_void);
                }
            )*
            None
        }
    };
}

replacements! {
    cuGetProcAddress cuGetProcAddress_v2 cuLaunchKernel cuLaunchKernel_ptsz cuLaunchKernelEx cuLaunchKernelEx_ptsz
    cuLaunchCooperativeKernel cuLaunchCooperativeKernel_ptsz cuGraphLaunch cuGraphLaunch_ptsz cuModuleGetFunction
    cuLibraryGetKernel cuKernelGetFunction cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle
    cuMemExportToShareableHandle cuMemImportFromShareableHandle cuMemRelease cuMemMap cuMemUnmap cuMemAlloc_v2
    cuMemAllocAsync cuMemAllocAsync_ptsz cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz cuMemAllocPitch_v2
    cuMemAllocManaged cuMemAllocHost_v2 cuMemHostAlloc cuMemHostRegister_v2 cuMemHostUnregister cuMemFree_v2
    cuMemFreeHost cuMemFreeAsync cuMemFreeAsync_ptsz cuMemcpy cuMemcpy_ptds cuMemcpyAsync cuMemcpyAsync_ptsz
    cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz cuMemcpyDtoH_v2
    cuMemcpyDtoH_v2_ptds cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2_ptsz cuMemcpyDtoD_v2 cuMemcpyDtoD_v2_ptds
    cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz cuMemcpy2D_v2 cuMemcpy2D_v2_ptds cuMemcpy2DUnaligned_v2
    cuMemcpy2DUnaligned_v2_ptds cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz cuMemsetD8_v2 cuMemsetD8_v2_ptds
    cuMemsetD8Async cuMemsetD8Async_ptsz cuMemsetD16_v2 cuMemsetD16_v2_ptds cuMemsetD16Async cuMemsetD16Async_ptsz
    cuMemsetD32_v2 cuMemsetD32_v2_ptds cuMemsetD32Async cuMemsetD32Async_ptsz
}

/// Returns our function for a name in the form that `cuGetProcAddress` expects, without version or stream suffixes.
fn replacement_by_name(name: &[u8], per_thread: bool) -> Option<*const c_void> {
    let streams: &[&str] = if per_thread { &["_ptsz", "_ptds"] } else { &[] };
    let with_suffix = streams
        .iter()
        .flat_map(|stream| ["", "_v2"].map(|version| [version, stream]));
    let mut suffixes = with_suffix.chain([["", ""], ["_v2", ""]]);
    suffixes.find_map(|suffix| {
        let suffix = suffix.map(str::as_bytes).concat();
        replacement(&[name, &suffix].concat())
    })
}

/// Replaces the requested driver function with ours. `symbol` is null or a name, and `function` is null or a pointer to
/// a pointer.
fn entry(
    status: Status,
    symbol: *const c_char,
    function: *mut *mut c_void,
    flags: u64,
    per_thread: bool,
) -> Status {
    /// `cudaEnablePerThreadDefaultStream`, `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
    const PER_THREAD: u64 = 2;
    if !status.is_success() || symbol.is_null() || function.is_null() {
        return status;
    }
    let per_thread = flags & PER_THREAD != 0 || per_thread && flags == 0;
    // SAFETY: the program passes a zero-terminated name.
    let name = unsafe { CStr::from_ptr(symbol) }.to_bytes();
    // SAFETY: the program passes room for a pointer; the driver has just written a function's address or null.
    let found = unsafe { &mut *function };
    let ours = match name {
        // This name can refer to either of two functions, depending on the CUDA version that the caller was built for.
        b"cuGetProcAddress" if Some(*found) == find_in_driver(c"cuGetProcAddress_v2") => {
            Some(cuGetProcAddress_v2 as *const c_void)
        }
        name => replacement_by_name(name, per_thread),
    };
    if let Some(ours) = ours.filter(|_| !found.is_null()) {
        *found = ours.cast_mut();
    }
    status
}

interposed! {
    [cudaGetFuncBySymbol, cudaGetKernel](handle: *mut Stub, stub: Stub) |real| { record_handle(real(), handle, stub) }
    [cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, flags: u64, found: *mut c_int,
    ) |real, per_thread| {
        entry(real(), symbol, function, flags, per_thread)
    }
    [cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, version: c_uint, flags: u64, found: *mut c_int,
    ) |real, per_thread| {
        entry(real(), symbol, function, flags, per_thread)
    }
}

interposed! { driver:
    [cuGetProcAddress](symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64) |real| {
        entry(real(), symbol, function, flags, false)
    }
    [cuGetProcAddress_v2](
        symbol: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64, found: *mut c_int,
    ) |real| {
        entry(real(), symbol, function, flags, false)
    }
    [cuGraphLaunch, cuGraphLaunch_ptsz: true](instance: GraphExec, stream: Stream) |real, per_thread| {
        opaque::launch_graph(instance, StreamArgument { handle: stream, per_thread }, real)
    }
    [cuModuleGetFunction, cuLibraryGetKernel](handle: *mut Stub, module: Module, name: *const c_char) |real| {
        let status = real();
        if let Some(handle) = stored(status, handle).filter(|_| !name.is_null()) {
            // SAFETY: the caller passes a zero-terminated name.
            opaque::named(handle, unsafe { text(name) });
        }
        status
    }
    [cuKernelGetFunction](function: *mut Stub, kernel: Stub) |real| {
        let status = real();
        if let Some(function) = stored(status, function) {
            opaque::named_as(function, kernel);
        }
        status
    }
}
