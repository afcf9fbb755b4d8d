//! A kernel launch: appends the trailing parameters and surrounds the kernel with what the trace needs.

use crate::cuda::device::current_device;
use crate::cuda::ffi::{self, Dim3, Error, Stream};
use crate::cuda::real;
use crate::model::graphs;
use crate::model::missing;
use crate::model::modules::Kernel;
use crate::model::resources;
use crate::recorder::drain::monitor::{Item, Queued};
use crate::recorder::runtime::{Runtime, runtime};
use crate::recorder::selection;
use std::cell::Cell;
use std::ffi::c_void;
use superstep_runtime_core::{ActiveLaunch, Geometry, is_used_fork, limits::is_configuration};
use superstep_trace::{Probe, Recorded, StreamId};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Plain,
    Cooperative,
    /// With attributes, or with room for them.
    Extended,
}

/// One launch call of the program.
pub struct Call<'a> {
    pub function: *const c_void,
    pub grid: Dim3,
    pub block: Dim3,
    pub arguments: *mut *mut c_void,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: usize,
    /// The stream, as given.
    pub stream: Stream,
    /// Whether stream 0 means the thread's own one.
    pub per_thread: bool,
    pub form: Form,
    /// Whether the function is a handle of the driver's.
    pub is_drivers: bool,
    pub launch: &'a dyn Fn(*mut *mut c_void) -> Error,
    pub origin: Origin,
}

/// Where a launch comes from, and what it became.
#[derive(Default)]
pub struct Origin {
    /// `sequence` of the launch whose kernel asked for it; `None`: the host did.
    pub parent: Option<u64>,
    /// Whether it is a node of a CUDA graph.
    pub in_graph: bool,
    /// Its own, when it has begun.
    pub sequence: Cell<Option<u64>>,
}

impl Call<'_> {
    /// Does what the program asked for, and records it.
    pub fn run(&self) -> Error {
        if is_used_fork() {
            return ffi::INITIALIZATION_ERROR;
        }
        let runtime = runtime();
        let (Some(_), kernel) = (runtime.device_to_launch_on(), runtime.kernel(self.function))
        else {
            return (self.launch)(self.arguments);
        };
        // The runtime says so to the program, and nothing runs: there is no launch to record.
        if runtime.is_unloaded() {
            return self.refused(kernel.as_deref());
        }
        let Some(kernel) = kernel else {
            return self.opaque(None);
        };
        if kernel.probe.is_none() {
            let error = self.opaque(Some(&kernel));
            missing::notice(&kernel.name, error);
            return error;
        }
        let (grid, block) = (self.grid.into(), self.block.into());
        if !is_configuration(grid, block)
            || self.form == Form::Cooperative && !may_be_resident(grid, block)
        {
            // As above.
            return self.refused(Some(&kernel));
        }
        let launched = if runtime.graphs.is_capturing() {
            // Nothing that we ask for besides must spoil the capture.
            let mode = real::relax_capture_mode();
            let launched = match graphs::captured_by(self.real_stream()) {
                Some(graph) => self.captured(runtime, &kernel, graph),
                None => self.with_children(runtime, &kernel),
            };
            real::restore_capture_mode(mode);
            launched
        } else {
            self.with_children(runtime, &kernel)
        };
        let error = launched.unwrap_or_else(|error| cannot(runtime, &kernel.name, &error));
        runtime.hook_exit();
        missing::notice(&kernel.name, error);
        error
    }

    /// A launch that the runtime does not take.
    fn refused(&self, kernel: Option<&Kernel>) -> Error {
        match kernel.filter(|kernel| !matches!(kernel.probe, Some(Probe::None) | None)) {
            Some(kernel) => {
                self.launch_with(kernel, 0, selection::launch_bits(Recorded::OutOfScope))
            }
            None => (self.launch)(self.arguments),
        }
    }

    /// A launch that is not captured, and what its kernel launches.
    fn with_children(&self, runtime: &'static Runtime, kernel: &Kernel) -> Result<Error, String> {
        match kernel.launches {
            true => runtime.children.run(runtime, self, kernel),
            false => self.now(runtime, kernel),
        }
    }

    /// The kernel alone; an error where its trace cannot be had.
    pub(crate) fn now(&self, runtime: &'static Runtime, kernel: &Kernel) -> Result<Error, String> {
        let stream = runtime.stream(self.stream, self.per_thread);
        match kernel.probe {
            Some(Probe::Trace) if runtime.in_situ.is_wanted(runtime) => {
                self.in_situ(runtime, kernel, stream)
            }
            Some(Probe::Trace) => {
                let lane = runtime.lane(stream)?;
                Ok(self.traced(runtime, kernel, stream, &lane))
            }
            Some(Probe::Count) => self.counted(runtime, kernel, stream),
            Some(Probe::Defined) => self.probed(runtime, kernel, stream),
            Some(Probe::None) | None => {
                let active = self.begin(runtime, kernel, stream);
                Ok(self.timed(runtime, active, || (self.launch)(self.arguments)))
            }
        }
    }

    pub(crate) fn real_stream(&self) -> Stream {
        real_stream(self.stream, self.per_thread)
    }

    pub(crate) fn begin(
        &self,
        runtime: &Runtime,
        kernel: &Kernel,
        stream: StreamId,
    ) -> ActiveLaunch {
        runtime.note_variables(kernel);
        let (session, name) = (runtime.session, &kernel.name);
        let geometry = self.geometry(kernel);
        let active = match self.origin.in_graph {
            true => session.graph_launch_begin(stream, name, geometry),
            false => session.launch_begin(stream, name, geometry, self.origin.parent),
        };
        self.origin.sequence.set(Some(active.launch.sequence));
        active
    }

    pub(crate) fn geometry(&self, kernel: &Kernel) -> Geometry {
        geometry(kernel, self.grid, self.block, self.shared_bytes)
    }

    /// Calls the kernel with the two trailing parameters.
    pub(crate) fn launch_with(&self, kernel: &Kernel, context: u64, launch: u64) -> Error {
        with_trailing(kernel, self.arguments, [context, launch], self.launch)
    }

    fn counted(
        &self,
        runtime: &'static Runtime,
        kernel: &Kernel,
        stream: StreamId,
    ) -> Result<Error, String> {
        let counters = runtime.counters(stream)?;
        let real_stream = self.real_stream();
        let _submit = counters.submit.lock();
        let active = self.begin(runtime, kernel, stream);
        let bits = selection::launch_bits(active.recorded);
        let cleared = counters.clear(real_stream);
        let (error, mut queued) = self.surround(runtime, active, || {
            if cleared == ffi::SUCCESS {
                self.launch_with(kernel, counters.context, bits)
            } else {
                cleared
            }
        });
        if error == ffi::SUCCESS {
            match counters.fetch(real_stream, runtime.events.take()) {
                Ok(counted) => {
                    record(counted.done, real_stream);
                    queued.counted = Some(counted);
                }
                Err(error) => runtime.session.fault(error),
            }
        }
        runtime.monitor().send(Item::Queued(queued));
        Ok(error)
    }

    /// A launch of which only the time is recorded.
    pub(crate) fn timed(
        &self,
        runtime: &'static Runtime,
        active: ActiveLaunch,
        launch: impl FnOnce() -> Error,
    ) -> Error {
        let (error, queued) = self.surround(runtime, active, launch);
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
        let queued = Queued {
            active,
            events,
            counted: None,
            summed: None,
            refused: (error != ffi::SUCCESS).then(|| real::describe(error)),
        };
        (error, queued)
    }
}

/// Whether all CTAs could be on the device at the same time, whatever registers and shared memory they take.
fn may_be_resident(grid: [u32; 3], block: [u32; 3]) -> bool {
    let device = current_device();
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: the pointer leads to a number.
        let error = unsafe { real::device_attribute(&mut value, attribute, device) };
        (error == ffi::SUCCESS).then(|| u64::from(value.unsigned_abs()))
    };
    let product = |extent: [u32; 3]| extent.iter().map(|&n| u64::from(n)).product::<u64>();
    let most = || {
        let by_threads = attribute(ffi::ATTRIBUTE_SM_THREADS)? / product(block);
        Some(
            attribute(ffi::ATTRIBUTE_SM_COUNT)?
                * by_threads.min(attribute(ffi::ATTRIBUTE_SM_CTAS)?),
        )
    };
    most().is_none_or(|most| product(grid) <= most)
}

pub(crate) fn geometry(
    kernel: &Kernel,
    grid: Dim3,
    block: Dim3,
    dynamic_shared_bytes: usize,
) -> Geometry {
    let static_shared_bytes = kernel.static_shared_bytes.get_or_init(|| {
        let Some(attributes) = real::attributes_of(kernel.stub) else {
            return 0;
        };
        let (threads, stub) = (block.x * block.y * block.z, kernel.stub as *const c_void);
        let resources = resources::of_kernel(&attributes, stub, threads, dynamic_shared_bytes);
        if let Some(resources) = resources {
            let session = runtime().session;
            session.kernel_resources(&kernel.name, resources);
        }
        attributes.static_shared_bytes as u64
    });
    Geometry {
        grid: grid.into(),
        block: block.into(),
        dynamic_shared_bytes: dynamic_shared_bytes as u64,
        static_shared_bytes: *static_shared_bytes,
        device: current_device(),
    }
}

/// The launch fails, because its trace cannot be had.
pub(crate) fn cannot(runtime: &Runtime, kernel: &str, error: &str) -> Error {
    let text = format!("failed to launch {kernel} with its trace: {error}");
    runtime.session.fault(text);
    ffi::MEMORY_ALLOCATION
}

/// A stream as the real runtime's functions without a suffix take it.
pub(crate) fn real_stream(stream: Stream, per_thread: bool) -> Stream {
    if stream.is_null() && per_thread {
        std::ptr::without_provenance_mut(ffi::PER_THREAD_STREAM)
    } else {
        stream
    }
}

/// The arguments of a kernel with the two trailing ones behind, handed to `run` as the interface takes them.
pub(crate) fn with_trailing(
    kernel: &Kernel,
    arguments: *mut *mut c_void,
    mut trailing: [u64; 2],
    run: impl FnOnce(*mut *mut c_void) -> Error,
) -> Error {
    let mut all = Vec::with_capacity(kernel.parameters + 2);
    if !arguments.is_null() {
        // SAFETY: the program gives one pointer for each of the kernel's own parameters.
        let own = unsafe { std::slice::from_raw_parts(arguments, kernel.parameters) };
        all.extend_from_slice(own);
    }
    all.extend(
        trailing
            .iter_mut()
            .map(|word| std::ptr::from_mut(word).cast::<c_void>()),
    );
    run(all.as_mut_ptr())
}

pub(crate) fn record(event: usize, stream: Stream) {
    if event != 0 {
        // SAFETY: the event was made by the runtime and is in no other launch. A failure leaves the time unknown.
        unsafe { real::event_record(event as ffi::Event, stream) };
    }
}
