//! A kernel launch: appends the trailing parameters and surrounds the kernel with what the trace needs.

use crate::ffi::{self, Error, Stream, dim3};
use crate::lanes::Lane;
use crate::modules::Kernel;
use crate::monitor::{Item, Queued};
use crate::queue::{Queue, Ticket};
use crate::real;
use crate::runtime::{Runtime, runtime};
use std::ffi::c_void;
use std::sync::{Arc, PoisonError};
use superstep_runtime_core::{ActiveLaunch, LaunchRequest};
use superstep_trace::{Probe, StreamId};

/// One launch call of the program.
pub struct Call<'a> {
    /// The host stub.
    pub function: *const c_void,
    /// CTAs.
    pub grid: dim3,
    /// Threads of a CTA.
    pub block: dim3,
    /// The program's arguments.
    pub arguments: *mut *mut c_void,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: usize,
    /// The stream, as given.
    pub stream: Stream,
    /// Whether stream 0 means the thread's own one.
    pub per_thread: bool,
    /// Launches with other arguments.
    pub launch: &'a dyn Fn(*mut *mut c_void) -> Error,
}

impl Call<'_> {
    /// Does what the program asked for, and records it.
    pub fn run(&self) -> Error {
        let runtime = runtime();
        let (Some(device), kernel) = (runtime.device(), runtime.kernel(self.function)) else {
            return (self.launch)(self.arguments);
        };
        let Some(kernel) = kernel else {
            if runtime.is_probed() {
                runtime
                    .session
                    .warning("a kernel was launched through a handle; its accesses are not traced");
            }
            return (self.launch)(self.arguments);
        };
        let error = match kernel.probe {
            Some(Probe::Trace | Probe::Count)
                if self.on_other_device(device.ordinal, &kernel.name) =>
            {
                ffi::NOT_SUPPORTED
            }
            Some(Probe::Trace) => {
                let stream = runtime.stream(self.stream, self.per_thread);
                match runtime.lane(stream, device) {
                    Ok(lane) => self.traced(runtime, &kernel, stream, &lane),
                    Err(error) => self.cannot(runtime, &kernel.name, &error),
                }
            }
            Some(Probe::Count) => self.counted(runtime, &kernel),
            Some(Probe::None) | None => {
                if kernel.probe.is_none() && runtime.is_probed() {
                    let name = &kernel.name;
                    runtime.session.warning(format!(
                        "kernel {name} was not built by Superstep; its accesses are not traced"
                    ));
                }
                self.timed(runtime, &kernel)
            }
        };
        runtime.hook_exit();
        error
    }

    fn on_other_device(&self, ordinal: i32, kernel: &str) -> bool {
        let mut now = ordinal;
        // SAFETY: the pointer leads to a number.
        let error = unsafe { real::get_device(&mut now) };
        let other = error == ffi::SUCCESS && now != ordinal;
        if other {
            runtime().session.fault(format!(
                "failed to launch {kernel} on device {now}: the trace began on device {ordinal}, and several devices in \
                 one program are not supported; run the program with CUDA_VISIBLE_DEVICES={ordinal}"
            ));
        }
        other
    }

    fn cannot(&self, runtime: &Runtime, kernel: &str, error: &str) -> Error {
        runtime
            .session
            .fault(format!("failed to launch {kernel} with its trace: {error}"));
        ffi::MEMORY_ALLOCATION
    }

    /// The stream as the real runtime's functions without a suffix take it.
    fn real_stream(&self) -> Stream {
        if self.stream.is_null() && self.per_thread {
            std::ptr::without_provenance_mut(ffi::PER_THREAD_STREAM)
        } else {
            self.stream
        }
    }

    fn begin(&self, runtime: &Runtime, kernel: &Kernel, stream: StreamId) -> ActiveLaunch {
        runtime.note_variables();
        let static_shared_bytes = *kernel.static_shared_bytes.get_or_init(|| {
            let mut attributes = ffi::FunctionAttributes {
                static_shared_bytes: 0,
                rest: [0; 63],
            };
            // SAFETY: the structure has room for what any version of the runtime writes.
            let error = unsafe { real::function_attributes(&mut attributes, self.function) };
            if error == ffi::SUCCESS {
                attributes.static_shared_bytes as u64
            } else {
                0
            }
        });
        runtime.session.launch_begin(&LaunchRequest {
            stream,
            kernel: &kernel.name,
            grid: self.grid.into(),
            block: self.block.into(),
            dynamic_shared_bytes: self.shared_bytes as u64,
            static_shared_bytes,
        })
    }

    /// Calls the kernel with the two trailing parameters.
    fn launch_with(&self, kernel: &Kernel, context: u64, launch: u64) -> Error {
        let (mut context, mut launch) = (context, launch);
        let mut arguments = Vec::with_capacity(kernel.parameters + 2);
        if !self.arguments.is_null() {
            // SAFETY: the program gives one pointer for each of the kernel's own parameters.
            arguments.extend_from_slice(unsafe {
                std::slice::from_raw_parts(self.arguments, kernel.parameters)
            });
        }
        arguments.push((&raw mut context).cast());
        arguments.push((&raw mut launch).cast());
        (self.launch)(arguments.as_mut_ptr())
    }

    fn traced(
        &self,
        runtime: &'static Runtime,
        kernel: &Kernel,
        stream: StreamId,
        lane: &Lane,
    ) -> Error {
        let _submit = lane.submit.lock().unwrap_or_else(PoisonError::into_inner);
        let active = self.begin(runtime, kernel, stream);
        let number = u64::from(active.launch.launch.0);
        let events = [runtime.events.take(), runtime.events.take()];
        let ticket = lane.queue.push(active, events);
        let data = Box::into_raw(Box::new(Notice {
            queue: lane.queue.clone(),
            ticket: ticket.clone(),
        }))
        .cast::<c_void>();
        let real_stream = self.real_stream();

        // SAFETY: `data` lives until `kernel_finished` frees it.
        let error = unsafe { real::launch_host_function(real_stream, kernel_starts, data) };
        if error != ffi::SUCCESS {
            // SAFETY: the stream did not take the function, so nobody else has the box.
            drop(unsafe { Box::from_raw(data.cast::<Notice>()) });
            lane.queue.cancel(&ticket);
            ticket.refuse(real::describe(error));
            let ending = crate::consumer::Ending {
                failure: ticket.failure(),
                ..Default::default()
            };
            runtime.monitor().send(Item::Traced(ticket, ending));
            return error;
        }
        record(events[0], real_stream);
        let launched = self.launch_with(kernel, lane.context, number | lane.parameter);
        record(events[1], real_stream);
        if let Some(Err(error)) = lane.flush.as_ref().map(|flush| flush.launch(real_stream)) {
            // After a sticky error: the monitor finds it, or the program is told by `launched`.
            ticket.fail(error);
        }
        if launched != ffi::SUCCESS {
            ticket.refuse(real::describe(launched));
        }
        // SAFETY: as above; the stream calls it after the first one.
        let error = unsafe { real::launch_host_function(real_stream, kernel_finished, data) };
        if error != ffi::SUCCESS {
            lane.queue.fault(&real::describe(error));
        }
        lane.queue.submitted(&ticket);
        launched
    }

    fn counted(&self, runtime: &'static Runtime, kernel: &Kernel) -> Error {
        let stream = runtime.stream(self.stream, self.per_thread);
        let counters = match runtime.counters(stream) {
            Ok(counters) => counters,
            Err(error) => return self.cannot(runtime, &kernel.name, &error),
        };
        let real_stream = self.real_stream();
        let _submit = counters
            .submit
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let active = self.begin(runtime, kernel, stream);
        let cleared = counters.clear(real_stream);
        let mut queued = self.surround(runtime, active, || {
            if cleared == ffi::SUCCESS {
                self.launch_with(kernel, counters.context, 0)
            } else {
                cleared
            }
        });
        if queued.0 == ffi::SUCCESS {
            match counters.fetch(real_stream, runtime.events.take()) {
                Ok(counted) => {
                    record(counted.done, real_stream);
                    queued.1.counted = Some(counted);
                }
                Err(error) => runtime.session.fault(error),
            }
        }
        runtime.monitor().send(Item::Queued(queued.1));
        queued.0
    }

    fn timed(&self, runtime: &'static Runtime, kernel: &Kernel) -> Error {
        let active = self.begin(
            runtime,
            kernel,
            runtime.stream(self.stream, self.per_thread),
        );
        let (error, queued) = self.surround(runtime, active, || (self.launch)(self.arguments));
        runtime.monitor().send(Item::Queued(queued));
        error
    }

    fn surround(
        &self,
        runtime: &Runtime,
        active: ActiveLaunch,
        launch: impl FnOnce() -> Error,
    ) -> (Error, Queued) {
        let events = [runtime.events.take(), runtime.events.take()];
        record(events[0], self.real_stream());
        let error = launch();
        record(events[1], self.real_stream());
        let refused = (error != ffi::SUCCESS).then(|| real::describe(error));
        (
            error,
            Queued {
                active,
                events,
                counted: None,
                refused,
            },
        )
    }
}

fn record(event: usize, stream: Stream) {
    if event != 0 {
        // SAFETY: the event was made by the runtime and is in no other launch. A failure leaves the time unknown.
        unsafe { real::event_record(event as ffi::Event, stream) };
    }
}

/// What the host functions around a kernel get.
struct Notice {
    queue: Arc<Queue>,
    ticket: Arc<Ticket>,
}

unsafe extern "C" fn kernel_starts(data: *mut c_void) {
    // SAFETY: `Call::traced` made the box; `kernel_finished`, which frees it, comes later in the same stream.
    let notice = unsafe { &*data.cast::<Notice>() };
    notice.queue.started(&notice.ticket);
}

unsafe extern "C" fn kernel_finished(data: *mut c_void) {
    // SAFETY: `Call::traced` made the box, and this is its last user.
    let notice = unsafe { Box::from_raw(data.cast::<Notice>()) };
    notice.queue.finished(&notice.ticket);
}
