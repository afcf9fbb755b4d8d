//! The runtime as a whole: its session, its end, and how it says that something is not supported.

use crate::errors::{CudaError, CudaResult};
use std::ffi::{CStr, c_char};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use superstep_runtime_core::Session;
use superstep_trace::{Backend, DeviceInfo};

/// Exit code of a program that calls a CUDA function which this backend does not support (`EX_SOFTWARE`).
pub const UNSUPPORTED_EXIT_CODE: i32 = 70;

/// Name of the device that programs see.
pub const DEVICE_NAME: &str = "Superstep CPU backend";
/// Compute capability that programs see: that of the device code, sm_90.
pub const COMPUTE_CAPABILITY: [u32; 2] = [9, 0];

/// The program's session. The first call arranges for the capture to be finished when the program exits.
pub fn session() -> &'static Session {
    static READY: Once = Once::new();
    let session = Session::global(Backend::Cpu);
    READY.call_once(|| {
        session.set_device(DeviceInfo {
            name: DEVICE_NAME.to_owned(),
            compute_capability: COMPUTE_CAPABILITY,
            driver: None,
        });
        // SAFETY: `at_exit` is a plain function. Modules register in constructors, so this comes before everything that the program
        // registers itself, and therefore runs after it.
        unsafe { libc::atexit(at_exit) };
    });
    session
}

extern "C" fn at_exit() {
    session().finish_at_exit();
}

/// Stops the program because it calls `function`, which this backend lacks and a GPU has.
pub fn lacks(function: &str) -> ! {
    unsupported(format_args!(
        "{function} is not supported by the CPU backend; run the program with --backend cuda, on a machine with a GPU"
    ))
}

/// Stops the program because it calls a function of a GPU's driver (`build/src/compile/link/driver.c`).
///
/// # Safety
/// `function` must end with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_no_driver(function: *const c_char) -> ! {
    // SAFETY: the stub passes a constant text that ends with 0.
    lacks(&unsafe { CStr::from_ptr(function) }.to_string_lossy())
}

/// Whether CUDA is gone, since the process ends.
static IS_UNLOADED: AtomicBool = AtomicBool::new(false);

/// What each call of CUDA begins with. As on a GPU, the first one arranges for CUDA to be unloaded when the process ends: objects and
/// handlers that were there before that are destroyed and called later, and find it gone.
pub fn begin_call() -> CudaResult {
    static FIRST: Once = Once::new();
    FIRST.call_once(|| {
        // SAFETY: `unload` is a plain function of this library, which is never unloaded before the process ends.
        unsafe { libc::atexit(unload) };
    });
    match IS_UNLOADED.load(Ordering::Acquire) {
        true => Err(CudaError::CUDART_UNLOADING),
        false => Ok(()),
    }
}

extern "C" fn unload() {
    IS_UNLOADED.store(true, Ordering::Release);
}

/// Stops the program because it needs `what`.
pub fn unsupported(what: std::fmt::Arguments<'_>) -> ! {
    session().fault(what);
    // SAFETY: ends the process; `at_exit` still finishes the capture.
    unsafe { libc::exit(UNSUPPORTED_EXIT_CODE) }
}
