//! A kernel launch: appends the trailing parameters and surrounds the kernel with what the trace needs.

use crate::ffi::{self, Error, Stream, dim3};
use crate::graphs;
use crate::missing;
use crate::modules::Kernel;
use crate::monitor::{Item, Queued};
use crate::real;
use crate::resources;
use crate::runtime::{Runtime, runtime};
use crate::selection;
use std::ffi::c_void;
use std::sync::PoisonError;
use superstep_runtime_core::{ActiveLaunch, LaunchRequest, limits::is_configuration};
use superstep_trace::{Probe, Recorded, StreamId};

/// One launch call of the program.
pub struct Call<'a> {
    pub function: *const c_void,
    pub grid: dim3,
    pub block: dim3,
    pub arguments: *mut *mut c_void,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: usize,
    /// The stream, as given.
    pub stream: Stream,
    /// Whether stream 0 means the thread's own one.
    pub per_thread: bool,
    /// Whether it is an ordinary launch: not cooperative, without attributes.
    pub is_plain: bool,
    pub launch: &'a dyn Fn(*mut *mut c_void) -> Error,
}

impl Call<'_> {
    /// Does what the program asked for, and records it.
    pub fn run(&self) -> Error {
        let runtime = runtime();
        let (Some(_), kernel) = (runtime.device(), runtime.kernel(self.function)) else {
            return (self.launch)(self.arguments);
        };
        let Some(kernel) = kernel else {
            if runtime.is_probed() {
                runtime.session.untraced_kernel(None);
            }
            return (self.launch)(self.arguments);
        };
        if !is_configuration(self.grid.into(), self.block.into()) {
            // The runtime says so to the program, and nothing ran: no launch to record.
            return match kernel.probe {
                Some(Probe::None) | None => (self.launch)(self.arguments),
                Some(_) => {
                    self.launch_with(&kernel, 0, selection::launch_bits(Recorded::OutOfScope))
                }
            };
        }
        let error = if runtime.graphs.is_capturing() {
            // Nothing that we ask for besides must spoil the capture.
            let mode = real::relax_capture_mode();
            let error = match graphs::captured_by(self.real_stream()) {
                Some(graph) => self.captured(runtime, &kernel, graph),
                None => self.now(runtime, &kernel),
            };
            real::restore_capture_mode(mode);
            error
        } else {
            self.now(runtime, &kernel)
        };
        runtime.hook_exit();
        missing::notice(&kernel.name, error);
        error
    }

    fn now(&self, runtime: &'static Runtime, kernel: &Kernel) -> Error {
        match kernel.probe {
            Some(Probe::Trace) => {
                let stream = runtime.stream(self.stream, self.per_thread);
                match runtime.lane(stream) {
                    Ok(lane) if lane.flush.is_some() => {
                        self.streamed(runtime, kernel, stream, &lane)
                    }
                    Ok(lane) => self.traced(runtime, kernel, stream, &lane),
                    Err(error) => self.cannot(runtime, &kernel.name, &error),
                }
            }
            Some(Probe::Count) => self.counted(runtime, kernel),
            Some(Probe::Defined) => self.probed(runtime, kernel),
            Some(Probe::None) | None => {
                untraced(runtime, kernel);
                self.timed(runtime, kernel)
            }
        }
    }

    /// The launch fails, because its trace cannot be had.
    pub(crate) fn cannot(&self, runtime: &Runtime, kernel: &str, error: &str) -> Error {
        runtime
            .session
            .fault(format!("failed to launch {kernel} with its trace: {error}"));
        ffi::MEMORY_ALLOCATION
    }

    /// The stream as the real runtime's functions without a suffix take it.
    pub(crate) fn real_stream(&self) -> Stream {
        if self.stream.is_null() && self.per_thread {
            std::ptr::without_provenance_mut(ffi::PER_THREAD_STREAM)
        } else {
            self.stream
        }
    }

    pub(crate) fn begin(
        &self,
        runtime: &Runtime,
        kernel: &Kernel,
        stream: StreamId,
    ) -> ActiveLaunch {
        runtime.note_variables(kernel);
        let static_shared_bytes = self.static_shared_bytes(kernel);
        runtime.session.launch_begin(&LaunchRequest {
            stream,
            kernel: &kernel.name,
            grid: self.grid.into(),
            block: self.block.into(),
            dynamic_shared_bytes: self.shared_bytes as u64,
            static_shared_bytes,
        })
    }

    /// Shared memory of a CTA that the kernel declares.
    pub(crate) fn static_shared_bytes(&self, kernel: &Kernel) -> u64 {
        *kernel.static_shared_bytes.get_or_init(|| {
            let mut attributes = ffi::FunctionAttributes {
                static_shared_bytes: 0,
                rest: [0; 63],
            };
            // SAFETY: the structure has room for what any version of the runtime writes.
            let error =
                unsafe { real::function_attributes(&mut attributes, kernel.stub as *const c_void) };
            if error != ffi::SUCCESS {
                return 0;
            }
            let threads = self.block.x * self.block.y * self.block.z;
            let stub = kernel.stub as *const c_void;
            let resources = resources::of_kernel(&attributes, stub, threads, self.shared_bytes);
            if let Some(resources) = resources {
                let session = runtime().session;
                session.kernel_resources(&kernel.name, resources);
            }
            attributes.static_shared_bytes as u64
        })
    }

    /// Calls the kernel with the two trailing parameters.
    pub(crate) fn launch_with(&self, kernel: &Kernel, context: u64, launch: u64) -> Error {
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
        let bits = selection::launch_bits(active.recorded);
        let cleared = counters.clear(real_stream);
        let mut queued = self.surround(runtime, active, || {
            if cleared == ffi::SUCCESS {
                self.launch_with(kernel, counters.context, bits)
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

    /// A launch of which nothing is recorded.
    pub(crate) fn skipped(
        &self,
        runtime: &'static Runtime,
        kernel: &Kernel,
        active: ActiveLaunch,
        context: u64,
        bits: u64,
    ) -> Error {
        let launch = || self.launch_with(kernel, context, bits);
        let (error, queued) = self.surround(runtime, active, launch);
        runtime.monitor().send(Item::Queued(queued));
        error
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

    pub(crate) fn surround(
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

/// A kernel of a program with probes that has none itself is no silent hole.
pub(crate) fn untraced(runtime: &Runtime, kernel: &Kernel) {
    if kernel.probe.is_none() && runtime.is_probed() {
        runtime.session.untraced_kernel(Some(&kernel.name));
    }
}

pub(crate) fn record(event: usize, stream: Stream) {
    if event != 0 {
        // SAFETY: the event was made by the runtime and is in no other launch. A failure leaves the time unknown.
        unsafe { real::event_record(event as ffi::Event, stream) };
    }
}
