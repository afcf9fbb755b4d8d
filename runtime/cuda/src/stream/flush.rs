//! The small kernel behind each traced one, which carries the rings' last pieces to the host.
//!
//! It is held as PTX, so that the driver makes it fit any GPU, and is started through the driver's own interface, which
//! takes the runtime's streams and its current context.

use crate::driver::{Driver, KernelNodeParameters, check, driver};
use crate::ffi::{Graph, GraphNode, Stream};
use std::ffi::{CStr, c_uint, c_void};

const MODULE: &CStr = match CStr::from_bytes_with_nul(
    concat!(include_str!("../../device/stream_flush.ptx"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the PTX holds a zero byte"),
};
/// Threads of its CTAs: one warp a ring.
const THREADS: c_uint = 32;

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
        let what = "load the kernel that empties the trace buffers";
        // SAFETY: the pointer leads to a handle; the text ends with a zero byte.
        let error = unsafe { (driver.load_data)(&mut module, MODULE.as_ptr().cast()) };
        check(error, what)?;
        let name = c"__superstep_stream_flush";
        // SAFETY: the pointer leads to a handle; the module was loaded just now and is never unloaded.
        let error = unsafe { (driver.get_function)(&mut function, module, name.as_ptr()) };
        check(error, what)?;
        Ok(Flush {
            driver,
            function: function as usize,
            context,
            parameter,
            rings: rings as c_uint,
        })
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
        check(error, "launch the kernel that empties the trace buffers")
    }

    /// Adds it to `graph`, behind `kernel`; answers its node.
    ///
    /// # Errors
    /// What the driver says.
    pub fn add_to(&self, graph: Graph, kernel: GraphNode) -> Result<GraphNode, String> {
        let (mut context, mut parameter) = (self.context, self.parameter);
        let mut arguments = [
            (&raw mut context).cast::<c_void>(),
            (&raw mut parameter).cast(),
        ];
        let parameters = KernelNodeParameters {
            function: self.function as *mut c_void,
            grid: [self.rings, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            arguments: arguments.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kernel: std::ptr::null_mut(),
            context: std::ptr::null_mut(),
        };
        let mut node = std::ptr::null_mut();
        // SAFETY: graphs and nodes of the runtime are the driver's; the driver copies parameters and arguments.
        let error =
            unsafe { (self.driver.graph_add_kernel)(&mut node, graph, &kernel, 1, &parameters) };
        check(
            error,
            "add the kernel that empties the trace buffers to a CUDA graph",
        )?;
        Ok(node)
    }
}
