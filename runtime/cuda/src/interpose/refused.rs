//! Calls that would run a traced kernel without the parameters that it needs. A program without probes may make them.

use super::interposed;
use crate::ffi::{self, Stream};
use crate::runtime::runtime;
use std::ffi::{c_int, c_uint, c_void};

/// Passes the call on, unless the program is traced: then it fails, and the run says why.
fn unless_probed(what: &str, real: impl FnOnce() -> ffi::Error) -> ffi::Error {
    let runtime = runtime();
    if !runtime.is_probed() {
        return real();
    }
    runtime.session.fault(format!("{what} is not supported in a traced program yet; build it without CUDA graphs and kernel handles to trace it"));
    ffi::NOT_SUPPORTED
}

interposed! {
    [cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz: true](stream: Stream, mode: c_int) |real, _per_thread| {
        unless_probed("stream capture into a CUDA graph (cudaStreamBeginCapture)", real)
    }
    [cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz: true](
        stream: Stream, graph: *mut c_void, dependencies: *const c_void, edges: *const c_void, count: usize, mode: c_int,
    ) |real, _per_thread| {
        unless_probed("stream capture into a CUDA graph (cudaStreamBeginCaptureToGraph)", real)
    }
    [cudaGraphAddKernelNode](
        node: *mut *mut c_void, graph: *mut c_void, dependencies: *const c_void, count: usize, parameters: *const c_void,
    ) |real, _per_thread| {
        unless_probed("a kernel in a CUDA graph (cudaGraphAddKernelNode)", real)
    }
    [cudaGraphAddNode](
        node: *mut *mut c_void, graph: *mut c_void, dependencies: *const c_void, count: usize, parameters: *mut c_void,
    ) |real, _per_thread| {
        unless_probed("a node of any kind in a CUDA graph (cudaGraphAddNode)", real)
    }
    [cudaGraphAddNode_v2](
        node: *mut *mut c_void, graph: *mut c_void, dependencies: *const c_void, edges: *const c_void, count: usize,
        parameters: *mut c_void,
    ) |real, _per_thread| {
        unless_probed("a node of any kind in a CUDA graph (cudaGraphAddNode_v2)", real)
    }
    [cudaLaunchCooperativeKernelMultiDevice](parameters: *mut c_void, devices: c_uint, flags: c_uint)
    |real, _per_thread| {
        unless_probed("a launch on several devices (cudaLaunchCooperativeKernelMultiDevice)", real)
    }
    [cudaGetFuncBySymbol](function: *mut *mut c_void, stub: *const c_void) |real, _per_thread| {
        unless_probed("a kernel's driver handle (cudaGetFuncBySymbol)", real)
    }
    [cudaGetKernel](kernel: *mut *mut c_void, stub: *const c_void) |real, _per_thread| {
        unless_probed("a kernel's handle (cudaGetKernel)", real)
    }
}
