//! Stream capture, which turns the work submitted to streams into nodes of a graph.

use super::{GRAPHS, Work, add, new_graph};
use crate::errors::{
    CudaError, CudaResult, check_not_null, check_sticky, cuda, fail_if, put, put_if_wanted,
};
use crate::exec::arguments::OwnedArguments;
use crate::exec::launch::{LaunchRequest, launch};
use crate::registry;
use crate::streams::{Named, named};
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use superstep_runtime_core::cuda::slice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Copy,
    Memset,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    id: u64,
    graph: usize,
    /// Dependencies of the next node.
    tail: Vec<usize>,
    is_origin: bool,
}

static CAPTURES: Mutex<BTreeMap<Named, Capture>> = Mutex::new(BTreeMap::new());
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static MODE: Cell<c_int> = const { Cell::new(0) };
    /// The last tail returned to the program, which reads it through a pointer. Never dropped, since
    /// destructors of the program's variables may make CUDA calls.
    static TAIL: RefCell<ManuallyDrop<Vec<usize>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

pub fn capture_of(stream: *mut c_void) -> Option<Capture> {
    CAPTURES.lock().get(&named(stream)).cloned()
}

pub(super) fn stream_is_capturing(stream: *mut c_void) -> bool {
    capture_of(stream).is_some()
}

/// Returns an error if `stream` is being captured, for calls that wait for the stream or query its state.
pub fn refuse_if_capturing(stream: *mut c_void) -> CudaResult {
    let is_capturing = stream_is_capturing(stream);
    fail_if(is_capturing, CudaError::STREAM_CAPTURE_UNSUPPORTED)
}

/// Adds a node to the capture of `stream`; returns `false` if the stream is not being captured.
pub(super) fn append(stream: *mut c_void, work: Work) -> Result<bool, CudaError> {
    let Some(capture) = capture_of(stream) else {
        return Ok(false);
    };
    let node = add(capture.graph, &capture.tail, work)?;
    if let Some(capture) = CAPTURES.lock().get_mut(&named(stream)) {
        capture.tail = vec![node];
    }
    Ok(true)
}

/// Runs `call` immediately, or adds it as a node to the graph into which `stream` is being captured.
pub fn submit(
    stream: *mut c_void,
    kind: Kind,
    call: impl Fn(*mut c_void) -> CudaResult + 'static,
) -> CudaResult {
    if !stream_is_capturing(stream) {
        return call(stream);
    }
    append(stream, Work::Call(kind, Arc::new(call))).map(drop)
}

/// Runs a kernel, or makes it a node of the graph into which `stream` is being captured.
pub fn submit_launch(
    request: LaunchRequest,
    arguments: *mut *mut c_void,
    stream: *mut c_void,
) -> CudaResult {
    if stream_is_capturing(stream) {
        let kernel = registry::kernel(request.function as *const c_void)?;
        let copied = Arc::new(OwnedArguments::copy(&kernel, arguments)?);
        // Another thread may end the capture at any time.
        if append(stream, Work::Kernel(request, copied))? {
            return Ok(());
        }
    }
    launch(request, arguments, stream)
}

/// Adds `stream` to the capture in which an event was recorded, unless that capture has ended.
pub fn join(stream: *mut c_void, recorded: Capture) {
    let mut captures = CAPTURES.lock();
    if !captures.values().any(|capture| capture.id == recorded.id) {
        return;
    }
    let capture = captures.entry(named(stream)).or_insert_with(|| Capture {
        tail: Vec::new(),
        is_origin: false,
        ..recorded
    });
    for node in recorded.tail {
        if !capture.tail.contains(&node) {
            capture.tail.push(node);
        }
    }
}

fn begin(stream: *mut c_void, graph: usize, tail: &[usize]) -> CudaResult {
    crate::streams::get(stream)?;
    let stream = named(stream);
    if matches!(stream, Named::Legacy(_)) {
        return Err(CudaError::STREAM_CAPTURE_UNSUPPORTED);
    }
    let mut captures = CAPTURES.lock();
    fail_if(captures.contains_key(&stream), CudaError::ILLEGAL_STATE)?;
    let capture = Capture {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        graph,
        tail: tail.to_vec(),
        is_origin: true,
    };
    captures.insert(stream, capture);
    Ok(())
}

fn end(stream: *mut c_void) -> Result<usize, CudaError> {
    let mut captures = CAPTURES.lock();
    let Some(capture) = captures.get(&named(stream)).cloned() else {
        return Err(CudaError::ILLEGAL_STATE);
    };
    fail_if(!capture.is_origin, CudaError::STREAM_CAPTURE_UNMATCHED)?;
    captures.retain(|_, other| other.id != capture.id);
    Ok(capture.graph)
}

/// Stores the status, ID, graph and tail of a capture; all pointers except `status` may be null.
fn put_info(
    stream: *mut c_void,
    status: *mut c_int,
    id: *mut u64,
    graph: *mut usize,
    tail: *mut *const usize,
    count: *mut usize,
) -> CudaResult {
    crate::streams::get(stream)?;
    let capture = capture_of(stream);
    put(status, c_int::from(capture.is_some()))?;
    let Some(capture) = capture else {
        return Ok(());
    };
    put_if_wanted(id, capture.id)?;
    put_if_wanted(graph, capture.graph)?;
    put_if_wanted(count, capture.tail.len())?;
    if tail.is_null() {
        return Ok(());
    }
    TAIL.with_borrow_mut(|last| {
        **last = capture.tail;
        put(tail, last.as_ptr())
    })
}

cuda! {
    fn [cudaStreamBeginCapture cudaStreamBeginCapture_ptsz](stream: *mut c_void, _mode: c_int) {
        check_sticky()?;
        let graph = new_graph();
        begin(stream, graph, &[]).inspect_err(|_| drop(GRAPHS.remove(graph)))
    }

    fn [cudaStreamBeginCaptureToGraph cudaStreamBeginCaptureToGraph_ptsz](
        stream: *mut c_void, to: usize, after: *const usize, _edges: *const c_void, count: usize, _mode: c_int
    ) {
        check_sticky()?;
        GRAPHS.get(to)?;
        // SAFETY: the program passes this many handles.
        begin(stream, to, unsafe { slice(after, count) })
    }

    fn [cudaStreamEndCapture cudaStreamEndCapture_ptsz](stream: *mut c_void, graph: *mut usize) {
        put(graph, end(stream)?)
    }

    fn [cudaStreamIsCapturing cudaStreamIsCapturing_ptsz](stream: *mut c_void, status: *mut c_int) {
        crate::streams::get(stream)?;
        put(status, c_int::from(stream_is_capturing(stream)))
    }

    fn [cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz](stream: *mut c_void, status: *mut c_int, id: *mut u64) {
        let null = std::ptr::null_mut();
        put_info(stream, status, id, null, std::ptr::null_mut(), null)
    }

    fn [cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v2_ptsz](
        stream: *mut c_void, status: *mut c_int, id: *mut u64, graph: *mut usize, tail: *mut *const usize, count: *mut usize
    ) {
        put_info(stream, status, id, graph, tail, count)
    }

    fn [cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz](
        stream: *mut c_void, nodes: *const usize, count: usize, flags: c_uint
    ) {
        let mut captures = CAPTURES.lock();
        let capture = captures.get_mut(&named(stream)).ok_or(CudaError::ILLEGAL_STATE)?;
        if flags != 0 {
            capture.tail.clear();
        }
        // SAFETY: the program passes this many handles.
        capture.tail.extend(unsafe { slice(nodes, count) });
        Ok(())
    }

    fn [cudaThreadExchangeStreamCaptureMode](mode: *mut c_int) {
        check_not_null(mode)?;
        // SAFETY: the program passes a valid pointer; null was ruled out.
        let new_mode = unsafe { mode.read() };
        put(mode, MODE.replace(new_mode))
    }
}

#[cfg(test)]
mod tests;
