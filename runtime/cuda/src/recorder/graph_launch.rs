//! Kernels captured into CUDA graphs, and launches of graphs.

use crate::cuda::ffi::{self, Error, Graph, GraphExec, GraphNode, Stream};
use crate::cuda::real;
use crate::model::graphs::{CountedNode, Node, Work, last_captured};
use crate::model::modules::Kernel;
use crate::recorder::count::Counters;
use crate::recorder::drain::lanes::Lane;
use crate::recorder::drain::queue::Ticket;
use crate::recorder::drain::signals;
use crate::recorder::in_situ;
use crate::recorder::launch::{Call, real_stream, record};
use crate::recorder::runtime::{Runtime, runtime};
use crate::recorder::selection;
use crate::recorder::traced::count_end;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use superstep_runtime_core::{Geometry, is_used_fork};
use superstep_trace::{LaunchOutcome, OpaqueGeometry, Probe};

impl Call<'_> {
    /// A launch into a stream that is being captured into `graph`; an error where its trace cannot be had.
    pub(crate) fn captured(
        &self,
        runtime: &'static Runtime,
        kernel: &Arc<Kernel>,
        graph: Graph,
    ) -> Result<Error, String> {
        let stream = self.real_stream();
        let bits = selection::launch_bits(runtime.session.recorded_in_graphs(&kernel.name));
        if kernel.launches {
            return Err(NO_CHILDREN.to_owned());
        }
        let mut own = Vec::new();
        let (work, launched, handle) = match kernel.probe {
            Some(Probe::Trace) if runtime.in_situ.is_wanted(runtime) => {
                runtime.note_variables(kernel);
                let [context, parameter] = in_situ::NOT_YET;
                let launched = self.launch_with(kernel, context, parameter);
                (Work::Plain, launched, last_captured(stream))
            }
            Some(Probe::Trace) => {
                runtime.note_variables(kernel);
                let graphs = &runtime.graphs;
                // Not by its handle: the default streams of all host threads have the same.
                let number = runtime.stream(self.stream, self.per_thread);
                let lane = graphs.captured_lane(graph, number, || runtime.graph_lane())?;
                let launched = self.launch_with(kernel, lane.context, lane.parameter | bits);
                let handle = last_captured(stream);
                if launched == ffi::SUCCESS
                    && let Some(flush) = &lane.flush
                {
                    flush.launch(stream)?;
                    own.extend(last_captured(stream));
                }
                (Work::Traced(lane), launched, handle)
            }
            Some(Probe::Count) => {
                let counted = counted_node(runtime)?;
                let cleared = counted.counters.clear(stream);
                if cleared != ffi::SUCCESS {
                    return Ok(cleared);
                }
                own.extend(last_captured(stream));
                let launched = self.launch_with(kernel, counted.counters.context, bits);
                let handle = last_captured(stream);
                if launched == ffi::SUCCESS {
                    let copied = counted.counters.copy_to(counted.slot, stream);
                    own.extend(last_captured(stream));
                    let data = std::ptr::from_ref(counted).cast_mut().cast::<c_void>();
                    // SAFETY: the node lives for ever.
                    let queued =
                        unsafe { real::launch_host_function(stream, counts_are_there, data) };
                    real::check(copied.max(queued), "count in a CUDA graph")?;
                    own.extend(last_captured(stream));
                }
                (Work::Counted(counted), launched, handle)
            }
            Some(Probe::Defined) => return Err(NO_PROBES.to_owned()),
            Some(Probe::None) | None => (Work::Plain, (self.launch)(self.arguments), None),
        };
        if launched != ffi::SUCCESS {
            self.explain_refusal(runtime, kernel, launched);
            return Ok(launched);
        }
        let node = Node {
            kernel: kernel.clone(),
            geometry: Mutex::new(self.geometry(kernel)),
            work,
        };
        let own = own.into_iter().map(|node: GraphNode| node as usize);
        (runtime.graphs).add(graph, handle, own.collect(), Arc::new(node));
        Ok(launched)
    }
}

pub(crate) const NO_CHILDREN: &str =
    "kernels that launch kernels do not work in CUDA graphs; launch them into a stream";

pub(crate) const NO_PROBES: &str =
    "probes do not work in CUDA graphs; launch the kernel into a stream";

pub(crate) fn counted_node(runtime: &Runtime) -> Result<&'static CountedNode, String> {
    let counters = Counters::new(&runtime.session.registry().from(0))?;
    let slot = counters.slot()?;
    Ok(Box::leak(Box::new(CountedNode {
        counters,
        slot,
        pending: Mutex::new(VecDeque::new()),
    })))
}

/// A kernel with the counting probe has ended, in a graph, and its counts are on the host.
pub(crate) unsafe extern "C" fn counts_are_there(data: *mut c_void) {
    // SAFETY: `counted_node` made it, and it lives for ever.
    let node = unsafe { &*data.cast::<CountedNode>() };
    let mut pending = node.pending.lock();
    let Some(active) = pending.front().cloned() else {
        return;
    };
    let session = runtime().session;
    let counts = node.counters.read(node.slot);
    let accesses = counts.iter().map(|(_, count)| count).sum();
    session.site_counts(&active, counts);
    session.launch_end(&active, accesses, 0, LaunchOutcome::Completed);
    pending.pop_front();
}

/// Launches an instance of a graph into a stream: announces its kernels and notes its copies and fills, in the order in which they were
/// put into the graph, as far as its edges allow that.
pub fn launch(
    instance: GraphExec,
    stream: Stream,
    per_thread: bool,
    real: impl FnOnce() -> Error,
) -> Error {
    if is_used_fork() {
        return ffi::INITIALIZATION_ERROR;
    }
    let runtime = runtime();
    let nodes = runtime.graphs.of_instance(instance);
    let is_ours = !nodes.is_empty() || runtime.in_situ.has_plan(instance);
    if !is_ours || runtime.is_unloaded() {
        return real();
    }
    let real_stream = real_stream(stream, per_thread);
    if runtime.graphs.is_capturing()
        && let Some(graph) = crate::model::graphs::captured_by(real_stream)
    {
        if !runtime.graphs.extend(graph, &nodes) {
            return twice(runtime);
        }
        return real();
    }
    if let Some(error) = (runtime.in_situ).launch_graph(runtime, instance, (stream, per_thread)) {
        return error;
    }
    let number = runtime.stream(stream, per_thread);
    let of_nodes = nodes.iter().filter_map(|node| node.lane());
    let mut lanes: Vec<_> = of_nodes.cloned().collect();
    let traced = lanes.len();
    lanes.sort_by_key(|lane| Arc::as_ptr(lane) as usize);
    lanes.dedup_by(|a, b| Arc::ptr_eq(a, b));
    // Always in the same order, so that two threads do not wait for each other.
    let submits: Vec<_> = lanes.iter().map(|lane| lane.submit.lock()).collect();
    for lane in &lanes {
        // Another instance of the same graph, perhaps in another stream, must have ended.
        let last = *lane.last.lock();
        if last.0 != instance as usize && last.1 != 0 {
            // SAFETY: the event is a lane's and lives as long as the device's context.
            unsafe { real::stream_wait_event(real_stream, last.1 as ffi::Event, 0) };
        }
    }
    let event = runtime.events.take();
    let mut tickets = Vec::new();
    let announce = |node: &Arc<Node>| {
        let geometry = *node.geometry.lock();
        let name = &*node.kernel.name;
        let begin = || (runtime.session).graph_launch_begin(number, name, geometry);
        match &node.work {
            Work::Traced(lane) => {
                // The last one gives the event back.
                let is_last = tickets.len() + 1 == traced;
                let own = if is_last { event } else { 0 };
                tickets.push((lane.clone(), lane.queue.push(begin(), [0, own], event)));
            }
            Work::Counted(counted) => {
                signals::HAS_REST.store(true, Ordering::Release);
                counted.pending.lock().push_back(begin());
            }
            Work::Plain => {
                let completed = LaunchOutcome::Completed;
                (runtime.session).launch_end(&begin(), 0, 0, completed);
            }
            Work::Opaque => {
                let Geometry { grid, block, .. } = geometry;
                let name = Some(name).filter(|name| !name.is_empty());
                let geometry = Some(OpaqueGeometry { grid, block });
                (runtime.session).opaque_launch(number, name, geometry, None);
            }
        }
    };
    let at = (stream, per_thread);
    (runtime.in_situ).note_graph(runtime, instance, at, &nodes, announce);
    let error = real();
    record(event, real_stream);
    if error != ffi::SUCCESS {
        take_back(runtime, &nodes, &tickets, real_stream, error);
    }
    if traced == 0 {
        runtime.events.give_back(&[event]);
    }
    for (lane, ticket) in &tickets {
        lane.queue.submitted(ticket);
    }
    if error == ffi::SUCCESS {
        for lane in &lanes {
            let mut last = lane.last.lock();
            if last.1 == 0 {
                last.1 = runtime.events.take();
            }
            last.0 = instance as usize;
            record(last.1, real_stream);
        }
    }
    drop(submits);
    runtime.hook_exit();
    error
}

/// The runtime did not take the graph: none of its kernels runs.
fn take_back(
    runtime: &'static Runtime,
    nodes: &[Arc<Node>],
    tickets: &[(Arc<Lane>, Arc<Ticket>)],
    stream: Stream,
    error: Error,
) {
    for (lane, ticket) in tickets {
        ticket.refuse(real::describe(error));
        if let Err(error) = count_end(lane, stream) {
            ticket.fail(error);
        }
    }
    for node in nodes {
        if let Work::Counted(counted) = node.work {
            let mut pending = counted.pending.lock();
            if let Some(active) = pending.pop_back() {
                let outcome = LaunchOutcome::Failed(real::describe(error));
                runtime.session.launch_end(&active, 0, 0, outcome);
            }
        }
    }
}

/// The same kernels would be in one graph twice, perhaps at the same time, with one lane.
pub fn twice(runtime: &Runtime) -> Error {
    runtime.session.fault(
        "failed to add a CUDA graph to another one twice: its kernels could run at the same time and would mix their traces; capture or build it again for the second one",
    );
    ffi::NOT_SUPPORTED
}
