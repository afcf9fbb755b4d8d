//! The small kernel that runs after each traced kernel and copies the rings' last pieces to the host.
//!
//! It is embedded as PTX, so that the driver can compile it for any GPU.

use crate::cuda::{CudaError, Function, Graph, GraphNode, Stream, driver};
use cudarc::driver::sys::CUDA_KERNEL_NODE_PARAMS_v2;
use std::ptr::null_mut;

const PTX: &str = include_str!("../../../device/stream_flush.ptx");
/// Threads per CTA: one warp, which handles one ring.
const THREADS: u32 = 32;

pub struct Flush {
    function: Function,
    context: u64,
    parameter: u64,
    rings: u32,
}

impl Flush {
    pub fn load(context: u64, parameter: u64, rings: usize) -> Result<Self, CudaError> {
        let doing = "load the kernel that empties the trace buffers";
        Ok(Flush {
            function: driver::load(PTX, c"__superstep_stream_flush", doing)?,
            context,
            parameter,
            rings: rings as u32,
        })
    }

    pub fn launch(&self, stream: Stream) -> Result<(), CudaError> {
        let mut words = [self.context, self.parameter];
        let mut arguments = words.each_mut().map(|word| std::ptr::from_mut(word).cast());
        let shape = [[self.rings, 1, 1], [THREADS, 1, 1]];
        // SAFETY: the function accepts these two arguments.
        let status =
            unsafe { driver::launch(self.function, shape, 0, stream, arguments.as_mut_ptr()) };
        driver::check(status, "launch the kernel that empties the trace buffers")
    }

    /// Adds the kernel to `graph`, after the node `kernel`; returns its node.
    pub fn add_to(&self, graph: Graph, kernel: GraphNode) -> Result<GraphNode, CudaError> {
        let mut words = [self.context, self.parameter];
        let mut arguments = words.each_mut().map(|word| std::ptr::from_mut(word).cast());
        let parameters = CUDA_KERNEL_NODE_PARAMS_v2 {
            func: self.function.raw(),
            gridDimX: self.rings,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: THREADS,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: arguments.as_mut_ptr(),
            extra: null_mut(),
            kern: null_mut(),
            ctx: null_mut(),
        };
        let (mut node, kernel) = (null_mut(), kernel.raw());
        // SAFETY: the graph and the node belong to the program; the driver copies the parameters and the arguments.
        let status = unsafe {
            driver!(cuGraphAddKernelNode_v2(
                &mut node,
                graph.raw(),
                &kernel,
                1,
                &parameters
            ))
        };
        let doing = "add the kernel that empties the trace buffers to a CUDA graph";
        driver::check(status, doing)?;
        Ok(GraphNode::from_raw(node.cast()))
    }
}
