//! Launches of code that Superstep did not build: kernels in proprietary libraries and modules that the program loads.
//!
//! Such code runs unchanged. The capture records when it ran, so that the memory it writes does not count as unwritten.

use super::{Call, record};
use crate::cuda::device::current_device;
use crate::cuda::graph::{captured_by, last_captured, with_relaxed_capture};
use crate::cuda::{Binary, Event, GraphExec, Status, StreamArgument, Stub, driver};
use crate::model::graphs::{Node, NodeRecording};
use crate::model::modules::Kernel;
use crate::recorder::drain::monitor::Item;
use crate::recorder::launch::graphs;
use crate::recorder::runtime::{monitor, runtime, session};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, LazyLock, Once, OnceLock};
use superstep_runtime_core::Geometry;
use superstep_trace::{KnownCall, OpaqueGeometry};

thread_local! {
    /// The known library call that this thread is executing. The inner `Option` is `None` if the call's arguments do
    /// not determine its accesses. Has no destructor, since those of the program's variables may make such calls.
    static CALL: RefCell<Option<ManuallyDrop<Option<KnownCall>>>> = const { RefCell::new(None) };
}

pub fn is_in_known_call() -> bool {
    CALL.with_borrow(Option::is_some)
}

/// Runs `call`; opaque launches made until it returns belong to it.
pub fn in_known_call<T>(known: Option<KnownCall>, call: impl FnOnce() -> T) -> T {
    CALL.set(Some(ManuallyDrop::new(known)));
    let done = call();
    drop(CALL.take().map(ManuallyDrop::into_inner));
    done
}

pub struct OpaqueRunning {
    pub launch: u64,
    pub kernel: Option<String>,
    pub events: [Option<Event>; 2],
}

impl Call<'_> {
    pub fn opaque(&self, kernel: Option<&Kernel>) -> Status {
        let name = match kernel {
            Some(kernel) => Some(kernel.name.clone()),
            None if self.is_driver_call => name_of(self.stub),
            None => None,
        };
        let geometry = OpaqueGeometry {
            grid: self.grid,
            block: self.block,
        };
        // Libraries also capture on their own, through functions that are not interposed.
        let Some(graph) = with_relaxed_capture(|| captured_by(self.stream())) else {
            return launched(self.stream, name, Some(geometry), || self.launch_as_is());
        };
        let status = self.launch_as_is();
        if status.is_success() {
            let handle = last_captured(self.stream());
            (runtime().graphs).add(graph, handle, Vec::new(), node(name, geometry));
        }
        status
    }
}

pub fn node(name: Option<String>, geometry: OpaqueGeometry) -> Node {
    let kernel = Kernel {
        name: name.unwrap_or_default(),
        stub: Stub::NULL,
        binary: Binary::NULL,
        probe: None,
        parameters: 0,
        launches: false,
        attributes: OnceLock::from(None),
        resources: Once::new(),
    };
    let geometry = Geometry {
        grid: geometry.grid,
        block: geometry.block,
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        device: current_device(),
    };
    Node::new(Arc::new(kernel), geometry, NodeRecording::Opaque)
}

/// Calls `real`, which puts opaque work into a stream, and records the work on success.
fn launched(
    into: StreamArgument,
    kernel: Option<String>,
    geometry: Option<OpaqueGeometry>,
    real: impl FnOnce() -> Status,
) -> Status {
    let runtime = runtime();
    let events = [(); 2].map(|()| runtime.events.take());
    record(events[0], into.stream());
    let status = real();
    if !status.is_success() {
        runtime.events.give_back(events);
        return status;
    }
    record(events[1], into.stream());
    let call = CALL.with_borrow(|call| call.as_ref().and_then(|call| (**call).clone()));
    let writes = call.as_ref().map(|call| call.writes.iter());
    let written = writes.map(|writes| writes.flat_map(|block| block.ranges()).collect::<Vec<_>>());
    runtime.in_situ.may_have_written(written.as_deref(), into);
    let stream = runtime.stream(into);
    let launch = session().opaque_launch(stream, kernel.as_deref(), geometry, call);
    monitor().send(Item::Opaque(OpaqueRunning {
        launch,
        kernel,
        events,
    }));
    runtime.hook_exit();
    status
}

pub fn launch_graph(
    instance: GraphExec,
    into: StreamArgument,
    real: impl FnOnce() -> Status,
) -> Status {
    let runtime = runtime();
    if runtime.device_to_launch_on().is_none() || captured_by(into.stream()).is_some() {
        return real();
    }
    if runtime.graphs.nodes_of_instance(instance).is_empty() && !runtime.in_situ.has_plan(instance)
    {
        return launched(into, None, None, real);
    }
    graphs::launch(instance, into, real)
}

static NAMES: LazyLock<Mutex<HashMap<Stub, String>>> = LazyLock::new(Mutex::default);

pub fn named(handle: Stub, name: String) {
    NAMES.lock().insert(handle, name);
}

/// Records that the handles `function` and `kernel` denote the same kernel.
pub fn named_as(function: Stub, kernel: Stub) {
    let mut names = NAMES.lock();
    if let Some(name) = names.get(&kernel).cloned() {
        names.insert(function, name);
    }
}

pub fn name_of(handle: Stub) -> Option<String> {
    if let Some(name) = NAMES.lock().get(&handle) {
        return Some(name.clone());
    }
    let name = driver::name_of(handle)?;
    named(handle, name.clone());
    Some(name)
}
