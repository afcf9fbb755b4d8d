//! Kernels' handles, and launches through the driver's own interface.
//!
//! A handle that the program asks for leads back to its kernel, which is then traced like any other. Kernels of modules that the
//! program loads itself were not built by Superstep; the run says that they are not traced. A program that looks a function of the
//! driver up in libcuda.so.1 by itself (`dlsym`) is not seen here.

use super::interposed;
use crate::driver::find;
use crate::ffi::{self, Error, Stream, dim3};
use crate::launch::Call;
use crate::missing::noticed;
use crate::runtime::runtime;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::PoisonError;

/// `CUDA_ERROR_NOT_INITIALIZED`.
const NOT_INITIALIZED: c_int = 3;

type Arguments = *mut *mut c_void;

/// `CUlaunchConfig`.
#[repr(C)]
pub struct DriverConfig {
    grid: dim3,
    block: dim3,
    shared_bytes: c_uint,
    stream: Stream,
    attributes: *mut c_void,
    attribute_count: c_uint,
}

fn known(error: Error, handle: *mut *mut c_void, stub: *const c_void) -> Error {
    if error == ffi::SUCCESS && !handle.is_null() {
        let mut modules = runtime()
            .modules
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the runtime has just written the handle there.
        modules.add_handle(unsafe { *handle } as usize, stub as usize);
    }
    noticed(stub, error)
}

struct Launch {
    function: *mut c_void,
    grid: dim3,
    block: dim3,
    shared_bytes: c_uint,
    stream: Stream,
    arguments: Arguments,
    extra: Arguments,
}

impl Launch {
    fn run(&self, per_thread: bool, real: impl Fn(Arguments) -> c_int) -> c_int {
        let traced = runtime()
            .kernel(self.function)
            .filter(|kernel| kernel.probe.is_some() && runtime().is_probed());
        if let Some(kernel) = traced.filter(|_| !self.extra.is_null()) {
            runtime().session.fault(format!(
                "failed to trace a launch of {}: its arguments come in one block (extra); give one pointer for each of them",
                kernel.name
            ));
            return ffi::NOT_SUPPORTED;
        }
        Call {
            function: self.function,
            grid: self.grid,
            block: self.block,
            arguments: self.arguments,
            shared_bytes: self.shared_bytes as usize,
            stream: self.stream,
            per_thread,
            is_plain: false,
            launch: &real,
        }
        .run()
    }
}

/// Calls libcuda's function `$name` with the given types.
macro_rules! cuda {
    ($name:literal, ($($argument:expr => $type:ty),*)) => {
        match find($name) {
            Some(address) => {
                // SAFETY: the C interface of the driver gives the function of this name this type.
                let function = unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(address)
                };
                // SAFETY: the caller passes on what the C interface asks for.
                unsafe { function($($argument),*) }
            }
            None => NOT_INITIALIZED,
        }
    };
}

macro_rules! launches {
    ($($name:ident as $export:literal, $per_thread:literal;)*) => {
        $(
            #[doc = concat!("Stands before libcuda's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As for the function of the driver.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface")]
            pub unsafe extern "C" fn $name(
                function: *mut c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
                block_z: c_uint, shared_bytes: c_uint, stream: Stream, arguments: Arguments, extra: Arguments,
            ) -> c_int {
                let grid = dim3 { x: grid_x, y: grid_y, z: grid_z };
                let block = dim3 { x: block_x, y: block_y, z: block_z };
                Launch { function, grid, block, shared_bytes, stream, arguments, extra }.run($per_thread, |arguments| cuda!(
                    $export,
                    (function => *mut c_void, grid_x => c_uint, grid_y => c_uint, grid_z => c_uint, block_x => c_uint,
                        block_y => c_uint, block_z => c_uint, shared_bytes => c_uint, stream => Stream,
                        arguments => Arguments, extra => Arguments)
                ))
            }
        )*
    };
}

launches! {
    cuLaunchKernel as c"cuLaunchKernel", false;
    cuLaunchKernel_ptsz as c"cuLaunchKernel_ptsz", true;
}

macro_rules! cooperative_launches {
    ($($name:ident as $export:literal, $per_thread:literal;)*) => {
        $(
            #[doc = concat!("Stands before libcuda's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As for the function of the driver.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the C interface")]
            pub unsafe extern "C" fn $name(
                function: *mut c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
                block_z: c_uint, shared_bytes: c_uint, stream: Stream, arguments: Arguments,
            ) -> c_int {
                let grid = dim3 { x: grid_x, y: grid_y, z: grid_z };
                let block = dim3 { x: block_x, y: block_y, z: block_z };
                let extra = std::ptr::null_mut();
                Launch { function, grid, block, shared_bytes, stream, arguments, extra }.run($per_thread, |arguments| cuda!(
                    $export,
                    (function => *mut c_void, grid_x => c_uint, grid_y => c_uint, grid_z => c_uint, block_x => c_uint,
                        block_y => c_uint, block_z => c_uint, shared_bytes => c_uint, stream => Stream,
                        arguments => Arguments)
                ))
            }
        )*
    };
}

cooperative_launches! {
    cuLaunchCooperativeKernel as c"cuLaunchCooperativeKernel", false;
    cuLaunchCooperativeKernel_ptsz as c"cuLaunchCooperativeKernel_ptsz", true;
}

macro_rules! extensible_launches {
    ($($name:ident as $export:literal, $per_thread:literal;)*) => {
        $(
            #[doc = concat!("Stands before libcuda's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As for the function of the driver.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the C interface")]
            pub unsafe extern "C" fn $name(
                config: *const DriverConfig, function: *mut c_void, arguments: Arguments, extra: Arguments,
            ) -> c_int {
                let real = |arguments| cuda!(
                    $export,
                    (config => *const DriverConfig, function => *mut c_void, arguments => Arguments, extra => Arguments)
                );
                if config.is_null() {
                    return real(arguments);
                }
                // SAFETY: the program gives a configuration.
                let DriverConfig { grid, block, shared_bytes, stream, .. } = unsafe { &*config };
                let (grid, block, shared_bytes, stream) = (*grid, *block, *shared_bytes, *stream);
                Launch { function, grid, block, shared_bytes, stream, arguments, extra }.run($per_thread, real)
            }
        )*
    };
}

extensible_launches! {
    cuLaunchKernelEx as c"cuLaunchKernelEx", false;
    cuLaunchKernelEx_ptsz as c"cuLaunchKernelEx_ptsz", true;
}

/// Puts our function in the place of the driver's that the program asked for.
fn entry(error: Error, symbol: *const c_char, function: *mut *mut c_void, flags: u64) -> Error {
    /// `cudaEnablePerThreadDefaultStream`.
    const PER_THREAD: u64 = 2;
    if error != ffi::SUCCESS || symbol.is_null() || function.is_null() || !runtime().is_probed() {
        return error;
    }
    let per_thread = flags & PER_THREAD != 0;
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
    [cudaGetFuncBySymbol](function: *mut *mut c_void, stub: *const c_void) |real, _per_thread| {
        known(real(), function, stub)
    }
    [cudaGetKernel](kernel: *mut *mut c_void, stub: *const c_void) |real, _per_thread| {
        known(real(), kernel, stub)
    }
    [cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut c_int,
    ) |real, per_thread| {
        entry(real(), symbol, function, if per_thread && flags == 0 { 2 } else { flags })
    }
    [cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz: true](
        symbol: *const c_char, function: *mut *mut c_void, version: c_uint, flags: u64, status: *mut c_int,
    ) |real, per_thread| {
        entry(real(), symbol, function, if per_thread && flags == 0 { 2 } else { flags })
    }
}
