//! The small kernel behind each traced one, which carries the rings' last pieces to the host.
//!
//! It is held as PTX, so that the driver makes it fit any GPU, and is started through the driver's own interface, which
//! takes the runtime's streams and its current context.

use crate::cuda::driver::{Driver, KernelNodeParameters, check, driver};
use crate::cuda::ffi::{Dim3, Graph, GraphNode, Stream};
use std::ffi::{c_uint, c_void};

const PTX: &str = include_str!("../../../device/stream_flush.ptx");
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
    pub fn load(context: u64, parameter: u64, rings: usize) -> Result<Self, String> {
        let driver = driver()?;
        let what = "load the kernel that empties the trace buffers";
        let function = driver.load(PTX, c"__superstep_stream_flush", what)?;
        Ok(Flush {
            driver,
            function: function as usize,
            context,
            parameter,
            rings: rings as c_uint,
        })
    }

    /// Queues it in `stream`.
    pub fn launch(&self, stream: Stream) -> Result<(), String> {
        let (mut context, mut parameter) = (self.context, self.parameter);
        let mut arguments: [*mut c_void; 2] =
            [(&raw mut context).cast(), (&raw mut parameter).cast()];
        let (function, arguments) = (self.function as *mut c_void, arguments.as_mut_ptr());
        let row = |x| Dim3 { x, y: 1, z: 1 };
        let shape = (row(self.rings), row(THREADS));
        // SAFETY: the function takes these two arguments.
        let error = unsafe { self.driver.launch(function, shape, 0, stream, arguments) };
        check(error, "launch the kernel that empties the trace buffers")
    }

    /// Adds it to `graph`, behind `kernel`; answers its node.
    pub fn add_to(&self, graph: Graph, kernel: GraphNode) -> Result<GraphNode, String> {
        let (mut context, mut parameter) = (self.context, self.parameter);
        let mut arguments: [*mut c_void; 2] =
            [(&raw mut context).cast(), (&raw mut parameter).cast()];
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
