//! Launches of CUDA graphs.

use crate::cuda::graph::captured_by;
use crate::cuda::{GraphExec, Status, Stream, StreamArgument};
use crate::model::graphs::{Node, NodeRecording};
use crate::recorder::drain::buffers::DrainBuffer;
use crate::recorder::drain::queue::Ticket;
use crate::recorder::launch::record;
use crate::recorder::runtime::{runtime, session};
use crate::recorder::tracing::count_end;
use std::sync::Arc;
use superstep_runtime_core::{ActiveLaunch, Geometry, is_used_fork};
use superstep_trace::{LaunchOutcome, OpaqueGeometry, StreamId};

/// Launches an instance of a graph, after announcing its kernels and recording its copies and fills.
pub fn launch(instance: GraphExec, into: StreamArgument, real: impl FnOnce() -> Status) -> Status {
    if is_used_fork() {
        return Status::INITIALIZATION_ERROR;
    }
    let runtime = runtime();
    let nodes = runtime.graphs.nodes_of_instance(instance);
    let is_known = !nodes.is_empty() || runtime.in_situ.has_plan(instance);
    if !is_known || runtime.is_unloaded() {
        return real();
    }
    let stream = into.stream();
    if runtime.graphs.is_capturing()
        && let Some(graph) = captured_by(stream)
    {
        if !runtime.graphs.extend(graph, &nodes) {
            return refuse_twice();
        }
        return real();
    }
    if let Some(status) = runtime.in_situ.launch_graph(instance, into) {
        return status;
    }
    let mut buffers: Vec<_> = nodes.iter().filter_map(|node| node.buffer()).collect();
    let traced = buffers.len();
    buffers.sort_by_key(|buffer| Arc::as_ptr(buffer) as usize);
    buffers.dedup_by(|a, b| Arc::ptr_eq(a, b));
    // Always locked in the same order, so that two threads do not deadlock.
    let submits: Vec<_> = buffers.iter().map(|buffer| buffer.submit.lock()).collect();
    for buffer in &buffers {
        // Waits for another instance of the same graph, which may be in another stream.
        if let Some((last, event)) = *buffer.last.lock()
            && last != instance
        {
            stream.wait_for(event);
        }
    }
    let event = runtime.events.take();
    let mut tickets = Vec::new();
    let number = runtime.stream(into);
    let announce = |node: &Arc<Node>| {
        if let Some((buffer, active)) = announce(node, number) {
            // The last ticket returns the event to the pool.
            let own = event.filter(|_| tickets.len() + 1 == traced);
            let ticket = buffer.queue.push(active, [None, own], event);
            tickets.push((buffer, ticket));
        }
    };
    runtime
        .in_situ
        .record_graph(instance, into, &nodes, announce);
    let status = real();
    record(event, stream);
    if !status.is_success() {
        take_back(&nodes, &tickets, stream, status);
    }
    if traced == 0 {
        runtime.events.give_back([event]);
    }
    for (buffer, ticket) in &tickets {
        buffer.queue.submitted(ticket);
    }
    if status.is_success() {
        for buffer in &buffers {
            let mut last = buffer.last.lock();
            let known = last.map(|(_, event)| event);
            let event = known.or_else(|| runtime.events.take());
            record(event, stream);
            *last = event.map(|event| (instance, event));
        }
    }
    drop(submits);
    runtime.hook_exit();
    status
}

/// Assigns a number to a kernel's launch; returns the buffer that receives its accesses.
fn announce(node: &Node, stream: StreamId) -> Option<(Arc<DrainBuffer>, ActiveLaunch)> {
    let geometry = *node.geometry.lock();
    let name = &*node.kernel.name;
    let begin = || session().graph_launch_begin(stream, name, geometry);
    match &node.recording {
        NodeRecording::Traced(buffer) => return Some((buffer.clone(), begin())),
        NodeRecording::Counted(counted) => counted.announce(begin()),
        NodeRecording::Timed => {
            session().launch_end(&begin(), 0, 0, LaunchOutcome::Completed);
        }
        NodeRecording::Opaque => {
            let Geometry { grid, block, .. } = geometry;
            let name = Some(name).filter(|name| !name.is_empty());
            let geometry = Some(OpaqueGeometry { grid, block });
            session().opaque_launch(stream, name, geometry, None);
        }
    }
    None
}

fn take_back(
    nodes: &[Arc<Node>],
    tickets: &[(Arc<DrainBuffer>, Arc<Ticket>)],
    stream: Stream,
    status: Status,
) {
    for (buffer, ticket) in tickets {
        ticket.refuse(status.to_string());
        if let Err(error) = count_end(buffer, stream) {
            ticket.fail(error.to_string());
        }
    }
    for node in nodes {
        if let NodeRecording::Counted(counted) = node.recording {
            counted.take_back(status);
        }
    }
}

/// Refuses to add kernels to a graph twice, since they could use the same buffer at the same time.
pub fn refuse_twice() -> Status {
    session().fault(
        "failed to add a CUDA graph to another graph twice: its kernels could run at the same time and mix up their traces; capture or build it again for the second use",
    );
    Status::NOT_SUPPORTED
}
