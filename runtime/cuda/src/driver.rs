//! What is needed of libcuda itself, which the runtime has loaded: nothing links it, so that every binary starts without it.

use crate::ffi::{Graph, GraphNode, Stream};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// `CUDA_KERNEL_NODE_PARAMS`, second version.
#[repr(C)]
pub struct KernelNodeParameters {
    /// `CUfunction`.
    pub function: *mut c_void,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: c_uint,
    /// One pointer for each argument.
    pub arguments: *mut *mut c_void,
    /// Arguments in one block, instead.
    pub extra: *mut *mut c_void,
    /// `CUkernel`, instead of the function.
    pub kernel: *mut c_void,
    pub context: *mut c_void,
}

/// `cuLaunchKernel`.
pub type Launch = unsafe extern "C" fn(
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

/// The function `name` of libcuda itself, whatever stands before it.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        // SAFETY: the name ends with a zero byte; the runtime has loaded the driver already, so nothing new is run.
        unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) as usize }
    });
    if library == 0 {
        return None;
    }
    // SAFETY: the library is never closed, and the name ends with a zero byte.
    let address = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

macro_rules! driver {
    ($($(#[$doc:meta])* $field:ident: $name:literal = $type:ty;)*) => {
        #[derive(Clone, Copy)]
        pub struct Driver {
            $($(#[$doc])* pub $field: $type,)*
        }

        fn load() -> Option<Driver> {
            Some(Driver {
                $(
                    // SAFETY: the C interface of the driver gives the function of this name this type.
                    $field: unsafe { std::mem::transmute::<*mut c_void, $type>(find($name)?) },
                )*
            })
        }
    };
}

driver! {
    /// Loads a module from its text.
    load_data: c"cuModuleLoadData" = unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int;
    /// A kernel of a module.
    get_function: c"cuModuleGetFunction" = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int;
    launch: c"cuLaunchKernel" = Launch;
    set_attribute: c"cuFuncSetAttribute" = unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int;
    /// Adds a kernel to a graph.
    graph_add_kernel: c"cuGraphAddKernelNode_v2" =
        unsafe extern "C" fn(*mut GraphNode, Graph, *const GraphNode, usize, *const KernelNodeParameters) -> c_int;
    /// The module that a kernel comes from.
    module_of: c"cuFuncGetModule" = unsafe extern "C" fn(*mut *mut c_void, *mut c_void) -> c_int;
    /// Address and bytes of a module's variable.
    get_global: c"cuModuleGetGlobal_v2" =
        unsafe extern "C" fn(*mut u64, *mut usize, *mut c_void, *const c_char) -> c_int;
    stream_create: c"cuStreamCreate" = unsafe extern "C" fn(*mut Stream, c_uint) -> c_int;
    stream_wait: c"cuStreamSynchronize" = unsafe extern "C" fn(Stream) -> c_int;
    stream_destroy: c"cuStreamDestroy_v2" = unsafe extern "C" fn(Stream) -> c_int;
    copy_to_device: c"cuMemcpyHtoDAsync_v2" = unsafe extern "C" fn(u64, *const c_void, usize, Stream) -> c_int;
    copy_to_host: c"cuMemcpyDtoHAsync_v2" = unsafe extern "C" fn(*mut c_void, u64, usize, Stream) -> c_int;
}

/// The driver's functions.
///
/// # Errors
/// There is no driver, or an old one.
pub fn driver() -> Result<Driver, String> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    DRIVER.get_or_init(load).ok_or_else(|| {
        "failed to find the driver's functions in libcuda.so.1; install NVIDIA's driver for CUDA 12 or newer, or use --protocol thesis"
            .to_owned()
    })
}

/// What the driver answered, as an error of `what`.
///
/// # Errors
/// Anything but success.
pub fn check(error: c_int, what: &str) -> Result<(), String> {
    if error == 0 {
        Ok(())
    } else {
        Err(format!("failed to {what}: CUDA driver error {error}"))
    }
}

/// Runs `work` with a stream of its own and waits for that, so that no stream of the program is waited for: one of them may run a
/// kernel that waits for another, which is not launched yet.
///
/// # Errors
/// What the driver says.
pub fn alone(
    driver: &Driver,
    what: &str,
    work: impl FnOnce(Stream) -> c_int,
) -> Result<(), String> {
    /// `CU_STREAM_NON_BLOCKING`.
    const NON_BLOCKING: c_uint = 1;
    let mut stream = std::ptr::null_mut();
    // SAFETY: the pointer leads to a handle.
    let made = unsafe { (driver.stream_create)(&mut stream, NON_BLOCKING) };
    check(made, what)?;
    let worked = work(stream);
    // SAFETY: the stream was made above and is destroyed once.
    let waited = unsafe { (driver.stream_wait)(stream).max((driver.stream_destroy)(stream)) };
    check(worked.max(waited), what)
}

/// Copies `out.len()` bytes from the device.
///
/// # Errors
/// What the driver says.
pub fn read(driver: &Driver, out: &mut [u8], address: u64) -> Result<(), String> {
    alone(driver, "read device memory", |stream| {
        // SAFETY: the destination holds so many bytes, and is not used before the stream was waited for.
        unsafe { (driver.copy_to_host)(out.as_mut_ptr().cast(), address, out.len(), stream) }
    })
}

/// Copies words to the device.
///
/// # Errors
/// What the driver says.
pub fn write(driver: &Driver, address: u64, words: &[u64]) -> Result<(), String> {
    alone(driver, "write the trace's device memory", |stream| {
        let bytes = size_of_val(words);
        // SAFETY: both sides hold so many bytes; the source lives until the stream was waited for.
        unsafe { (driver.copy_to_device)(address, words.as_ptr().cast(), bytes, stream) }
    })
}
