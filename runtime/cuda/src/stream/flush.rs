//! The small kernel behind each traced one, which carries the rings' last pieces to the host.
//!
//! It is held as PTX, so that the driver makes it fit any GPU, and is started through the driver's own interface, which
//! takes the runtime's streams and its current context.

use crate::ffi::Stream;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// `device/stream_flush.cu`, compiled.
const MODULE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../device/stream_flush.ptx"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the PTX holds a zero byte"),
};
/// Threads of its CTAs: one warp a ring.
const THREADS: c_uint = 32;

type LoadData = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int;
type GetFunction = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
type Launch = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    Stream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;

/// What is needed of libcuda.
#[derive(Clone, Copy)]
struct Driver {
    load_data: LoadData,
    get_function: GetFunction,
    launch: Launch,
}

fn driver() -> Result<Driver, String> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    let found = DRIVER.get_or_init(|| {
        // SAFETY: the name ends with a zero byte; the runtime has loaded the driver already, so nothing new is run.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        let find = |name: &CStr| {
            // SAFETY: the library is never closed, and the name ends with a zero byte.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        let (load, get, launch) = (
            find(c"cuModuleLoadData")?,
            find(c"cuModuleGetFunction")?,
            find(c"cuLaunchKernel")?,
        );
        // SAFETY: the C interface of the driver gives the functions of these names these types.
        unsafe {
            Some(Driver {
                load_data: std::mem::transmute::<*mut c_void, LoadData>(load),
                get_function: std::mem::transmute::<*mut c_void, GetFunction>(get),
                launch: std::mem::transmute::<*mut c_void, Launch>(launch),
            })
        }
    });
    found.ok_or_else(|| {
        "failed to find the driver's functions in libcuda.so.1; install NVIDIA's driver, or use --protocol thesis".to_owned()
    })
}

/// The kernel, loaded for one buffer.
pub struct Flush {
    driver: Driver,
    function: usize,
    context: u64,
    parameter: u64,
    rings: c_uint,
}

impl Flush {
    /// Loads the kernel into the calling thread's context, for the buffer at `context`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn load(context: u64, parameter: u64, rings: usize) -> Result<Self, String> {
        let driver = driver()?;
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the pointer leads to a handle; the text ends with a zero byte.
        let error = unsafe { (driver.load_data)(&mut module, MODULE.as_ptr().cast()) };
        if error == 0 {
            let name = c"__superstep_stream_flush";
            // SAFETY: the pointer leads to a handle; the module was loaded just now and is never unloaded.
            let error = unsafe { (driver.get_function)(&mut function, module, name.as_ptr()) };
            if error == 0 {
                return Ok(Flush {
                    driver,
                    function: function as usize,
                    context,
                    parameter,
                    rings: rings as c_uint,
                });
            }
        }
        Err(format!(
            "failed to load the kernel that empties the trace buffers: CUDA driver error {error}"
        ))
    }

    /// Queues it in `stream`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn launch(&self, stream: Stream) -> Result<(), String> {
        let (mut context, mut parameter) = (self.context, self.parameter);
        let mut arguments = [
            (&raw mut context).cast::<c_void>(),
            (&raw mut parameter).cast(),
        ];
        // SAFETY: the function takes these two arguments, which the driver copies before it returns.
        let error = unsafe {
            (self.driver.launch)(
                self.function as *mut c_void,
                self.rings,
                1,
                1,
                THREADS,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        if error == 0 {
            Ok(())
        } else {
            Err(format!(
                "failed to launch the kernel that empties the trace buffers: CUDA driver error {error}"
            ))
        }
    }
}
