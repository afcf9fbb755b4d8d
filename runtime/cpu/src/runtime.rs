//! The process-wide session, its exit handlers, and exits for unsupported features.

use crate::errors::{CudaError, CudaResult, fail_if};
use std::ffi::{CStr, c_char};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use superstep_runtime_core::Session;
use superstep_trace::{Backend, DeviceInfo};

/// `EX_SOFTWARE`: exit code of a program that calls an unsupported CUDA function.
pub const UNSUPPORTED_EXIT_CODE: i32 = 70;

pub const DEVICE_NAME: &str = "Superstep CPU backend";
/// Target of the device code, sm_90.
pub const COMPUTE_CAPABILITY: [u32; 2] = [9, 0];

/// Returns the program's session. The first call registers the exit handler that finishes the capture.
pub fn session() -> &'static Session {
    static READY: Once = Once::new();
    let session = Session::global(Backend::Cpu);
    READY.call_once(|| {
        session.set_device(DeviceInfo {
            name: DEVICE_NAME.to_owned(),
            compute_capability: COMPUTE_CAPABILITY,
            driver: None,
        });
        // SAFETY: `at_exit` is a plain function. Modules register in constructors, so it is registered before the
        // program's handlers and runs after them.
        unsafe { libc::atexit(at_exit) };
    });
    session
}

extern "C" fn at_exit() {
    session().finish_at_exit();
}

/// Terminates the program after a call to an unsupported function of the CUDA runtime
/// (`build/src/compile/link/cudart_stub.c`) or of the driver (`driver.c` next to it).
///
/// # Safety
///
/// `function` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_unsupported(function: *const c_char) -> ! {
    // SAFETY: the stub passes a NUL-terminated constant.
    let function = unsafe { CStr::from_ptr(function) }.to_string_lossy();
    unsupported(format_args!(
        "{function} is not supported by the CPU backend; run the program with --backend cuda, on a machine with a GPU"
    ))
}

/// Defines functions that CUDA 12 removed, so that the stub also exports them for code compiled with older headers.
macro_rules! removed {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: unsupported; terminates the program with exit code 70.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> ! {
            // SAFETY: the name is NUL-terminated.
            unsafe { __superstep_unsupported(concat!(stringify!($name), "\0").as_ptr().cast()) }
        }
    )*};
}

removed! {
    __cudaRegisterSurface __cudaRegisterTexture cudaBindSurfaceToArray cudaBindTexture cudaBindTexture2D cudaBindTextureToArray
    cudaBindTextureToMipmappedArray cudaGetSurfaceReference cudaGetTextureAlignmentOffset cudaGetTextureReference
    cudaUnbindTexture
}

/// Whether CUDA's exit handler has run.
static IS_UNLOADED: AtomicBool = AtomicBool::new(false);

/// Begins a CUDA call. As on a GPU, the first one registers CUDA's exit handler. Destructors and handlers registered
/// before it run after it, and their CUDA calls fail.
pub fn begin_call() -> CudaResult {
    static FIRST: Once = Once::new();
    FIRST.call_once(|| {
        // SAFETY: `unload` is a plain function of this library, which is never unloaded before the process exits.
        unsafe { libc::atexit(unload) };
    });
    let is_unloaded = IS_UNLOADED.load(Ordering::Acquire);
    fail_if(is_unloaded, CudaError::CUDART_UNLOADING)
}

extern "C" fn unload() {
    IS_UNLOADED.store(true, Ordering::Release);
}

pub fn unsupported(what: std::fmt::Arguments<'_>) -> ! {
    session().fault(what);
    // SAFETY: exits the process; `at_exit` still finishes the capture.
    unsafe { libc::exit(UNSUPPORTED_EXIT_CODE) }
}
