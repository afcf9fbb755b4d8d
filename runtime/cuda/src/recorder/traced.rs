//! A traced kernel launch, by either protocol.

use crate::cuda::device::current_device;
use crate::cuda::ffi::{self, Error, Stream};
use crate::cuda::real;
use crate::model::modules::Kernel;
use crate::recorder::drain::lanes::Lane;
use crate::recorder::drain::monitor::Item;
use crate::recorder::drain::queue::{Queue, Ticket};
use crate::recorder::launch::{Call, record};
use crate::recorder::runtime::Runtime;
use crate::recorder::selection;
use crate::recorder::thesis::consumer::Ending;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use superstep_trace::StreamId;

impl Call<'_> {
    /// Launches and records. With the protocol `stream`, the flush kernel behind the kernel counts the launch when it has ended;
    /// with `thesis`, host functions before and behind it say so.
    pub(crate) fn traced(
        &self,
        runtime: &'static Runtime,
        kernel: &Kernel,
        stream: StreamId,
        lane: &Lane,
    ) -> Error {
        let _submit = lane.submit.lock();
        let active = self.begin(runtime, kernel, stream);
        let bits = selection::launch_bits(active.recorded);
        if active.recorded.is_nothing() {
            let launch = || self.launch_with(kernel, lane.context, bits);
            return self.timed(runtime, active, launch);
        }
        let number = u64::from(active.launch.launch.0) | bits;
        let events = [runtime.events.take(), runtime.events.take()];
        let ticket = lane.queue.push(active, events, events[1]);
        let real_stream = self.real_stream();
        let notice = match &lane.flush {
            Some(_) => None,
            None => match announce(lane, &ticket, real_stream) {
                Ok(notice) => Some(notice),
                Err(error) => {
                    lane.queue.cancel(&ticket);
                    refuse(runtime, &ticket, error);
                    return error;
                }
            },
        };
        record(events[0], real_stream);
        let launched = self.launch_with(kernel, lane.context, number | lane.parameter);
        if launched == ffi::SUCCESS || notice.is_some() {
            record(events[1], real_stream);
        }
        if launched != ffi::SUCCESS {
            ticket.refuse(real::describe(launched));
            self.explain_refusal(runtime, kernel, launched);
        }
        if let Some(data) = notice {
            // SAFETY: `data` lives until `kernel_finished` frees it, which the stream calls after `kernel_starts`.
            let error = unsafe { real::launch_host_function(real_stream, kernel_finished, data) };
            if error != ffi::SUCCESS {
                lane.queue.fault(&real::describe(error));
            }
        } else if let Err(error) = count_end(lane, real_stream) {
            // Also behind a kernel that was refused: the device counts it, and its number is no other's. This fails after an
            // error of the device, which the monitor finds and which says more.
            ticket.fail(error);
        }
        lane.queue.submitted(&ticket);
        launched
    }

    /// Says what the trace has to do with a launch that the runtime did not take.
    pub(crate) fn explain_refusal(&self, runtime: &Runtime, kernel: &Kernel, error: Error) {
        let threads = self.block.x as c_int * self.block.y as c_int * self.block.z as c_int;
        let name = &kernel.name;
        match error {
            ffi::LAUNCH_OUT_OF_RESOURCES => runtime.session.fault(format!(
                "failed to launch {name} with its trace: a CTA of {threads} threads needs more registers than an SM has, because a \
                 traced kernel takes more of them; build for this GPU's architecture (--gpu-arch), where they are limited to what the \
                 untraced kernel's CTAs leave room for, launch smaller CTAs, or give the kernel __launch_bounds__({threads})"
            )),
            ffi::COOPERATIVE_LAUNCH_TOO_LARGE => {
                let (mut ctas, mut sms) = (0, 0);
                // SAFETY: both pointers lead to numbers, and the stub was registered.
                unsafe {
                    let stub = kernel.stub as *const c_void;
                    real::occupancy(&mut ctas, stub, threads, self.shared_bytes);
                    real::device_attribute(&mut sms, ffi::ATTRIBUTE_SM_COUNT, current_device());
                }
                let asked = u64::from(self.grid.x) * u64::from(self.grid.y) * u64::from(self.grid.z);
                runtime.session.fault(format!(
                    "failed to launch {name} with its trace: {} CTAs of the traced kernel fit on the device at the same time, the \
                     cooperative launch has {asked}; ask cudaOccupancyMaxActiveBlocksPerMultiprocessor for the number instead of \
                     fixing it, or launch fewer CTAs",
                    ctas * sms
                ));
            }
            _ => {}
        }
    }
}

/// Queues what ends a launch of the lane. A stream that takes nothing because it is none leaves it to the default stream.
pub(crate) fn count_end(lane: &Lane, stream: Stream) -> Result<(), String> {
    let Some(flush) = &lane.flush else {
        return Ok(());
    };
    flush
        .launch(stream)
        .or_else(|_| flush.launch(std::ptr::null_mut()))
}

/// The runtime did not take a launch: the program gets the error, and the capture says so.
fn refuse(runtime: &'static Runtime, ticket: &Arc<Ticket>, error: Error) {
    ticket.refuse(real::describe(error));
    let ending = Ending {
        failure: ticket.failure(),
        ..Ending::default()
    };
    runtime.monitor().send(Item::Traced(ticket.clone(), ending));
}

/// What the host functions around a kernel get.
struct Notice {
    queue: Arc<Queue>,
    ticket: Arc<Ticket>,
}

/// Queues what tells that the kernel begins; answers the [`Notice`] for its end.
fn announce(lane: &Lane, ticket: &Arc<Ticket>, stream: Stream) -> Result<*mut c_void, Error> {
    let (queue, ticket) = (lane.queue.clone(), ticket.clone());
    let notice = Box::into_raw(Box::new(Notice { queue, ticket }));
    // SAFETY: the notice lives until `kernel_finished` frees it.
    match unsafe { real::launch_host_function(stream, kernel_starts, notice.cast()) } {
        ffi::SUCCESS => Ok(notice.cast()),
        error => {
            // SAFETY: the stream did not take the function, so nobody else has the box.
            drop(unsafe { Box::from_raw(notice) });
            Err(error)
        }
    }
}

unsafe extern "C" fn kernel_starts(data: *mut c_void) {
    // SAFETY: `announce` made the box; `kernel_finished`, which frees it, comes later in the same stream.
    let notice = unsafe { &*data.cast::<Notice>() };
    notice.queue.started(&notice.ticket);
}

unsafe extern "C" fn kernel_finished(data: *mut c_void) {
    // SAFETY: `announce` made the box, and this is its last user.
    let notice = unsafe { Box::from_raw(data.cast::<Notice>()) };
    notice.queue.finished(&notice.ticket);
}
