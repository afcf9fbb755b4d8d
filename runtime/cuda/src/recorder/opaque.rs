//! Launches of code that Superstep did not build: kernels of closed libraries, and of modules that the program brings along.
//!
//! They run as they are. The capture says when, so that nobody takes what they wrote for unwritten.

use crate::cuda::device::current_device;
use crate::cuda::driver;
use crate::cuda::ffi::{self, Error, GraphExec, Stream};
use crate::cuda::real;
use crate::interpose::calls;
use crate::model::graphs::{Node, Work, captured_by, last_captured};
use crate::model::modules::Kernel;
use crate::recorder::drain::monitor::Item;
use crate::recorder::graph_launch;
use crate::recorder::launch::{Call, real_stream, record};
use crate::recorder::runtime::runtime;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, LazyLock, OnceLock};
use superstep_runtime_core::Geometry;
use superstep_trace::OpaqueGeometry;

/// An opaque launch that is in its stream.
pub struct Running {
    /// Its number in the capture.
    pub launch: u64,
    pub kernel: Option<String>,
    /// Before and after it.
    pub events: [usize; 2],
}

impl Call<'_> {
    /// Makes a launch whose kernel was not built by Superstep; `kernel`: what is known of it.
    pub(crate) fn opaque(&self, kernel: Option<&Kernel>) -> Error {
        let name = match kernel {
            Some(kernel) => Some(kernel.name.clone()),
            None if self.is_drivers => name_of(self.function),
            None => None,
        };
        let geometry = OpaqueGeometry {
            grid: self.grid.into(),
            block: self.block.into(),
        };
        let stream = self.real_stream();
        // Libraries capture by themselves, too: the runtime's own captures are not all there are.
        let mode = real::relax_capture_mode();
        let graph = captured_by(stream);
        real::restore_capture_mode(mode);
        let Some(graph) = graph else {
            return launched(self.stream, self.per_thread, name, Some(geometry), || {
                (self.launch)(self.arguments)
            });
        };
        let error = (self.launch)(self.arguments);
        if error == ffi::SUCCESS {
            let handle = last_captured(stream);
            let node = Arc::new(node(name, geometry));
            (runtime().graphs).add(graph, handle, Vec::new(), node);
        }
        error
    }
}

/// A kernel in a graph.
pub fn node(name: Option<String>, geometry: OpaqueGeometry) -> Node {
    Node {
        kernel: Arc::new(Kernel {
            name: name.unwrap_or_default(),
            stub: 0,
            binary: 0,
            probe: None,
            parameters: 0,
            launches: false,
            static_shared_bytes: OnceLock::from(0),
        }),
        geometry: Mutex::new(Geometry {
            grid: geometry.grid,
            block: geometry.block,
            dynamic_shared_bytes: 0,
            static_shared_bytes: 0,
            device: current_device(),
        }),
        work: Work::Opaque,
    }
}

/// Calls `real`, which puts opaque work into a stream, and notes it if that succeeds.
fn launched(
    stream: Stream,
    per_thread: bool,
    kernel: Option<String>,
    geometry: Option<OpaqueGeometry>,
    real: impl FnOnce() -> Error,
) -> Error {
    let runtime = runtime();
    let into = real_stream(stream, per_thread);
    let events = [runtime.events.take(), runtime.events.take()];
    record(events[0], into);
    let error = real();
    if error != ffi::SUCCESS {
        runtime.events.give_back(&events);
        return error;
    }
    record(events[1], into);
    let at = (stream, per_thread);
    let stream = runtime.stream(stream, per_thread);
    let call = calls::current();
    let written: Option<Vec<(u64, u64)>> = call.as_ref().map(|call| {
        let blocks = call.writes.iter();
        blocks.flat_map(|block| block.ranges()).collect()
    });
    runtime.in_situ.opaque(runtime, written.as_deref(), at);
    let launch = (runtime.session).opaque_launch(stream, kernel.as_deref(), geometry, call);
    runtime.monitor().send(Item::Opaque(Running {
        launch,
        kernel,
        events,
    }));
    runtime.hook_exit();
    error
}

/// A library launches an instance of a graph.
pub fn launch_graph(
    instance: GraphExec,
    stream: Stream,
    per_thread: bool,
    real: impl FnOnce() -> Error,
) -> Error {
    let runtime = runtime();
    if runtime.device_to_launch_on().is_none()
        || captured_by(real_stream(stream, per_thread)).is_some()
    {
        return real();
    }
    if runtime.graphs.of_instance(instance).is_empty() && !runtime.in_situ.has_plan(instance) {
        return launched(stream, per_thread, None, None, real);
    }
    graph_launch::launch(instance, stream, per_thread, real)
}

/// Names of kernels by the driver's handles, as they were asked for.
static NAMES: LazyLock<Mutex<HashMap<usize, String>>> = LazyLock::new(Mutex::default);

/// The driver gave `handle` for the kernel called `name`.
pub fn named(handle: *const *mut c_void, name: *const c_char) {
    if !handle.is_null() && !name.is_null() {
        // SAFETY: the driver has just written the handle; the caller gave a zero-terminated name.
        let (handle, name) = unsafe { (*handle, CStr::from_ptr(name)) };
        let name = name.to_string_lossy().into_owned();
        NAMES.lock().insert(handle as usize, name);
    }
}

/// The driver gave the handle `function` for the kernel with the handle `kernel`.
pub fn named_as(function: *const *mut c_void, kernel: *const c_void) {
    let mut names = NAMES.lock();
    let name = names.get(&(kernel as usize)).cloned();
    if let Some(name) = name.filter(|_| !function.is_null()) {
        // SAFETY: the driver has just written the handle.
        names.insert(unsafe { *function } as usize, name);
    }
}

/// The mangled name of the kernel with a handle of the driver's. A handle is a function's, or a kernel's that stands for one.
pub fn name_of(handle: *const c_void) -> Option<String> {
    type Ask = unsafe extern "C" fn(*mut *const c_char, *const c_void) -> c_int;
    static ASK: OnceLock<Vec<Ask>> = OnceLock::new();
    if let Some(name) = NAMES.lock().get(&(handle as usize)) {
        return Some(name.clone());
    }
    let ask = ASK.get_or_init(|| {
        ([c"cuFuncGetName", c"cuKernelGetName"].into_iter())
            .filter_map(driver::find)
            // SAFETY: the C interface of the driver gives both functions this type.
            .map(|function| unsafe { std::mem::transmute::<*mut c_void, Ask>(function) })
            .collect()
    });
    let name = ask.iter().find_map(|ask| {
        let mut name = std::ptr::null();
        // SAFETY: the pointer leads to a pointer; the program launches by the handle.
        let error = unsafe { ask(&mut name, handle) };
        // SAFETY: the driver gives a zero-terminated name that lives as long as the module.
        (error == ffi::SUCCESS && !name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
    })?;
    let name = name.to_string_lossy().into_owned();
    NAMES.lock().insert(handle as usize, name.clone());
    Some(name)
}
