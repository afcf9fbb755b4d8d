//! Traced launches with the `stream` and `thesis` protocols.

use super::drain::buffers::{DrainBuffer, DrainBuffers, Transport};
use super::drain::monitor::Item;
use super::drain::queue::{Queue, Ticket};
use super::launch::graph_nodes::{Insertion, graph_bits};
use super::launch::{Call, record};
use super::runtime::{monitor, runtime, session};
use super::selection::{self, device_selection};
use super::thesis::bins::Shape;
use super::thesis::buffer::Buffer;
use super::thesis::consumer::Ending;
use super::{RecordError, Recorder, stream};
use crate::cuda::device::{Device, current_device};
use crate::cuda::{CudaError, Status, Stream};
use crate::model::graphs::NodeRecording;
use crate::model::modules::Kernel;
use std::ffi::c_void;
use std::sync::Arc;
use superstep_trace::Protocol;

/// Default maximum number of bins in a stream's buffer.
const MAX_BINS: usize = 128;
/// Default number of records per bin, which take up 1.5 MiB.
const BIN_RECORDS: usize = 64 << 10;

#[derive(Default)]
pub struct Tracing {
    pub buffers: DrainBuffers,
}

impl Tracing {
    /// Creates a buffer for the first stream on a device. If that fails, the first launch reports the error.
    pub fn prepare(&self, device: i32) {
        let _ = self.buffers.prepare(device, &|| stream_transport(false));
    }

    /// Returns a buffer for kernels in a CUDA graph on the calling thread's device.
    pub fn graph_buffer(&self) -> Result<Arc<DrainBuffer>, RecordError> {
        monitor();
        match runtime().protocol()? {
            Protocol::Stream => {
                (self.buffers).of_graph(current_device(), &|| stream_transport(true))
            }
            protocol => Err(RecordError::NoGraphs(protocol)),
        }
    }
}

impl Recorder for Tracing {
    /// With `stream`, the flush kernel counts finished launches. With `thesis`, host functions report the start and end.
    fn launch(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError> {
        monitor();
        let runtime = runtime();
        let number = runtime.stream(call.stream);
        let buffer = self.buffers.of(number, current_device(), &transport)?;
        let _submit = buffer.submit.lock();
        let active = call.begin(kernel);
        let bits = selection::launch_bits(active.recorded);
        if active.recorded.is_nothing() {
            let launch = || call.launch_with(kernel, buffer.context, bits);
            return Ok(call.timed(active, launch));
        }
        let launch_number = u64::from(active.launch.launch.0) | bits;
        let events = [(); 2].map(|()| runtime.events.take());
        let ticket = buffer.queue.push(active, events, events[1]);
        let stream = call.stream();
        let notice = match &buffer.flush {
            Some(_) => None,
            None => match announce(&buffer, &ticket, stream) {
                Ok(notice) => Some(notice),
                Err(status) => {
                    buffer.queue.cancel(&ticket);
                    ticket.refuse(status.to_string());
                    let ending = Ending {
                        failure: ticket.failure(),
                        ..Ending::default()
                    };
                    monitor().send(Item::Traced(ticket, ending));
                    return Ok(status);
                }
            },
        };
        record(events[0], stream);
        let parameter = launch_number | buffer.parameter;
        let launched = call.launch_with(kernel, buffer.context, parameter);
        if launched.is_success() || notice.is_some() {
            record(events[1], stream);
        }
        if !launched.is_success() {
            ticket.refuse(launched.to_string());
            call.explain_refusal(kernel, launched);
        }
        if let Some(data) = notice {
            // SAFETY: `kernel_finished`, which the stream calls after `kernel_started`, frees `data`.
            let queued = unsafe { stream.launch_host_function(kernel_finished, data) };
            if !queued.is_success() {
                buffer.queue.fault(&queued.to_string());
            }
        } else if let Err(error) = count_end(&buffer, stream) {
            // Done even if the kernel was refused, so that the device's count stays correct. The monitor reports device
            // errors in more detail.
            ticket.fail(error.to_string());
        }
        buffer.queue.submitted(&ticket);
        Ok(launched)
    }

    fn add_to_graph(
        &self,
        kernel: &Kernel,
        place: &mut dyn Insertion,
    ) -> Result<NodeRecording, RecordError> {
        runtime().record_variables(kernel);
        let buffer = place.buffer()?;
        let parameter = buffer.parameter | graph_bits(kernel);
        place.kernel(Some([buffer.context, parameter]))?;
        place.flush(&buffer)?;
        Ok(NodeRecording::Traced(buffer))
    }
}

fn transport() -> Result<Transport, RecordError> {
    match runtime().protocol()? {
        Protocol::Stream => stream_transport(false),
        Protocol::Thesis => thesis_transport(),
        Protocol::InSitu => Err(RecordError::NoBuffer),
    }
}

fn thesis_transport() -> Result<Transport, RecordError> {
    let config = session().config();
    let sms = Device::current()?.sms;
    let defaults = (sms.next_power_of_two().min(MAX_BINS), BIN_RECORDS);
    let bins = config.bins.map_or(defaults.0, |bins| bins as usize);
    let records = config
        .bin_records
        .map_or(defaults.1, |records| records.get() as usize);
    let wanted = Shape::rounded(bins, records);
    let buffer = Buffer::new(wanted, device_selection()?)?;
    if buffer.bins.shape != wanted {
        let (actual, requested) = (buffer.bins.shape.bin_records, wanted.bin_records);
        session().warning(format!(
            "low on host memory: bins hold {actual} records instead of {requested}"
        ));
    }
    Ok(Transport::Thesis(buffer))
}

fn stream_transport(for_graph: bool) -> Result<Transport, RecordError> {
    let sms = Device::current()?.sms;
    let mut settings = stream::Settings::new(session().config(), sms);
    if for_graph {
        settings = settings.for_graph();
    }
    let buffer = stream::Buffer::new(&settings, device_selection()?)?;
    let (actual, requested) = (buffer.shape, settings.shape);
    if actual.host_slots != requested.host_slots {
        session().warning(format!(
            "low on host memory: there is room for {} pieces of each ring instead of {}",
            actual.host_slots, requested.host_slots
        ));
    }
    if (actual.slots, actual.piece_units) != (requested.slots, requested.piece_units) {
        session().warning(format!(
            "low on device memory: rings have {} pieces of {} bytes instead of {} of {}",
            actual.slots,
            actual.piece_bytes(),
            requested.slots,
            requested.piece_bytes()
        ));
    }
    Ok(Transport::Stream(buffer, settings))
}

/// Queues the kernel that marks the end of a launch that uses `buffer`, in the default stream if `stream` is invalid.
pub fn count_end(buffer: &DrainBuffer, stream: Stream) -> Result<(), CudaError> {
    let Some(flush) = &buffer.flush else {
        return Ok(());
    };
    flush.launch(stream).or_else(|_| flush.launch(Stream::NULL))
}

struct Notice {
    queue: Arc<Queue>,
    ticket: Arc<Ticket>,
}

/// Queues the report that the kernel has started; returns the [`Notice`] for the report that it has ended.
fn announce(
    buffer: &DrainBuffer,
    ticket: &Arc<Ticket>,
    stream: Stream,
) -> Result<*mut c_void, Status> {
    let (queue, ticket) = (buffer.queue.clone(), ticket.clone());
    let notice = Box::into_raw(Box::new(Notice { queue, ticket }));
    // SAFETY: the notice lives until `kernel_finished` frees it.
    match unsafe { stream.launch_host_function(kernel_started, notice.cast()) } {
        Status::SUCCESS => Ok(notice.cast()),
        error => {
            // SAFETY: the stream did not accept the function, so nothing else owns the box.
            drop(unsafe { Box::from_raw(notice) });
            Err(error)
        }
    }
}

unsafe extern "C" fn kernel_started(data: *mut c_void) {
    // SAFETY: `announce` created the box; `kernel_finished`, which frees it, runs later in the same stream.
    let notice = unsafe { &*data.cast::<Notice>() };
    notice.queue.started(&notice.ticket);
}

unsafe extern "C" fn kernel_finished(data: *mut c_void) {
    // SAFETY: `announce` created the box, and this is its last user.
    let notice = unsafe { Box::from_raw(data.cast::<Notice>()) };
    notice.queue.finished(&notice.ticket);
}
