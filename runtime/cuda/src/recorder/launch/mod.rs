//! A kernel launch by the program and the steps shared by all recorders.

pub mod children;
pub mod graph_nodes;
pub mod graphs;
pub mod opaque;

use crate::cuda::device::{attribute_of, attributes_of, ctas_on_sm, current_device, resources_of};
use crate::cuda::graph::{captured_by, with_relaxed_capture};
use crate::cuda::{Event, Status, Stream, StreamArgument, Stub};
use crate::model::graphs::Node;
use crate::model::modules::Kernel;
use crate::recorder::drain::monitor::{Item, Queued, Results};
use crate::recorder::launch::graph_nodes::Captured;
use crate::recorder::runtime::{monitor, runtime, session};
use crate::recorder::{RecordError, Recorder, selection};
use cudarc::runtime::sys::{cudaDeviceAttr, cudaFuncAttributes};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use superstep_runtime_core::{
    ActiveLaunch, Geometry, cuda::slice, is_used_fork, limits::is_configuration,
};
use superstep_trace::{Probe, Recorded};

pub type Arguments = *mut *mut c_void;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Plain,
    Cooperative,
    /// Launched with attributes, or through a function that accepts them.
    Extended,
}

pub struct Call<'a> {
    pub stub: Stub,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub arguments: Arguments,
    pub shared_bytes: usize,
    pub stream: StreamArgument,
    pub form: Form,
    pub is_driver_call: bool,
    pub launch: &'a dyn Fn(Arguments) -> Status,
    /// Sequence number of the parent's launch; `None` if launched by the host.
    pub parent: Option<u64>,
    pub in_graph: bool,
    /// This launch's sequence number, once it has begun.
    pub sequence: Cell<Option<u64>>,
}

impl<'a> Call<'a> {
    /// Describes a plain launch by the host.
    pub fn new(
        stub: Stub,
        [grid, block]: [[u32; 3]; 2],
        shared_bytes: usize,
        stream: StreamArgument,
        arguments: Arguments,
        launch: &'a dyn Fn(Arguments) -> Status,
    ) -> Self {
        Call {
            stub,
            grid,
            block,
            arguments,
            shared_bytes,
            stream,
            form: Form::Plain,
            is_driver_call: false,
            launch,
            parent: None,
            in_graph: false,
            sequence: Cell::new(None),
        }
    }

    pub fn run(&self) -> Status {
        if is_used_fork() {
            return Status::INITIALIZATION_ERROR;
        }
        let runtime = runtime();
        if runtime.device_to_launch_on().is_none() {
            return self.launch_as_is();
        }
        let kernel = runtime.kernel(self.stub);
        // Nothing runs, so there is no launch to record.
        if runtime.is_unloaded() {
            return self.refused(kernel.as_deref());
        }
        let Some(kernel) = kernel else {
            return self.opaque(None);
        };
        let Some(recorder) = runtime.recorder(&kernel) else {
            let status = self.opaque(Some(&kernel));
            report_missing(&kernel.name, status);
            return status;
        };
        // CUDA rejects such launches, so nothing runs.
        if !is_configuration(self.grid, self.block)
            || self.form == Form::Cooperative && !may_be_resident(self.grid, self.block)
            // The query may load the kernel's module, which must not invalidate a capture.
            || match runtime.graphs.is_capturing() {
                true => with_relaxed_capture(|| self.exceeds_limits(&kernel)),
                false => self.exceeds_limits(&kernel),
            }
        {
            return self.refused(Some(&kernel));
        }
        let launched = if runtime.graphs.is_capturing() {
            // The recorder's calls must not invalidate the capture.
            with_relaxed_capture(|| self.capture(&kernel, recorder))
        } else {
            self.with_children(&kernel)
        };
        let status = launched.unwrap_or_else(|error| cannot_launch(&kernel.name, error));
        runtime.hook_exit();
        report_missing(&kernel.name, status);
        status
    }

    fn exceeds_limits(&self, kernel: &Kernel) -> bool {
        let Some(attributes) = attributes(kernel) else {
            return false;
        };
        let is_too_large = |attributes: &cudaFuncAttributes| {
            let allowed = usize::try_from(attributes.maxDynamicSharedSizeBytes);
            allowed.is_ok_and(|allowed| self.shared_bytes > allowed)
        };
        self.block.iter().product::<u32>() > attributes.maxThreadsPerBlock.unsigned_abs()
            // The program may have raised the limit on shared memory (`cudaFuncSetAttribute`).
            || is_too_large(attributes)
                && attributes_of(kernel.stub).is_some_and(|now| is_too_large(&now))
    }

    fn refused(&self, kernel: Option<&Kernel>) -> Status {
        match kernel.filter(|kernel| !matches!(kernel.probe, Some(Probe::None) | None)) {
            Some(kernel) => {
                let bits = selection::launch_bits(Recorded::OutOfScope);
                let status = self.launch_with(kernel, 0, bits);
                if status == Status::LAUNCH_OUT_OF_RESOURCES {
                    self.explain_refusal(kernel, status);
                }
                status
            }
            None => self.launch_as_is(),
        }
    }

    /// Launches the kernel while a stream, perhaps this one, is being captured into a CUDA graph.
    fn capture(
        &self,
        kernel: &Arc<Kernel>,
        recorder: &dyn Recorder,
    ) -> Result<Status, RecordError> {
        let Some(graph) = captured_by(self.stream()) else {
            return self.with_children(kernel);
        };
        if kernel.launches {
            return Err(RecordError::ChildrenInGraph);
        }
        let (handle, own) = (None, Vec::new());
        let mut place = Captured {
            call: self,
            kernel,
            graph,
            handle,
            own,
        };
        let recording = recorder.add_to_graph(kernel, &mut place)?;
        let geometry = geometry(kernel, self.grid, self.block, self.shared_bytes);
        let node = Node::new(kernel.clone(), geometry, recording);
        (runtime().graphs).add(graph, place.handle, place.own, node);
        Ok(Status::SUCCESS)
    }

    fn with_children(&self, kernel: &Kernel) -> Result<Status, RecordError> {
        if kernel.launches {
            return runtime().children.run(self, kernel);
        }
        self.record(kernel)
    }

    /// Launches the kernel without its children. Returns an error if it cannot be recorded.
    pub fn record(&self, kernel: &Kernel) -> Result<Status, RecordError> {
        match runtime().recorder(kernel) {
            Some(recorder) => recorder.launch(self, kernel),
            None => Ok(self.opaque(Some(kernel))),
        }
    }

    pub fn stream(&self) -> Stream {
        self.stream.stream()
    }

    pub fn begin(&self, kernel: &Kernel) -> ActiveLaunch {
        runtime().record_variables(kernel);
        let (stream, name) = (runtime().stream(self.stream), &kernel.name);
        let geometry = geometry(kernel, self.grid, self.block, self.shared_bytes);
        let active = if self.in_graph {
            session().graph_launch_begin(stream, name, geometry)
        } else {
            session().launch_begin(stream, name, geometry, self.parent)
        };
        self.sequence.set(Some(active.launch.sequence));
        active
    }

    pub fn launch_as_is(&self) -> Status {
        (self.launch)(self.arguments)
    }

    pub fn launch_with(&self, kernel: &Kernel, context: u64, launch: u64) -> Status {
        with_trailing(kernel, self.arguments, [context, launch], self.launch)
    }

    pub fn timed(&self, active: ActiveLaunch, launch: impl FnOnce() -> Status) -> Status {
        self.with_results(active, launch, || Ok(None))
    }

    /// Launches the kernel, then calls `fetch`, which queues the copy of its results.
    pub fn with_results(
        &self,
        active: ActiveLaunch,
        launch: impl FnOnce() -> Status,
        fetch: impl FnOnce() -> Result<Option<Results>, RecordError>,
    ) -> Status {
        let (status, mut queued) = self.surround(active, launch);
        if status.is_success() {
            match fetch() {
                Ok(results) => queued.results = results,
                Err(error) => session().fault(error),
            }
        }
        monitor().send(Item::Queued(queued));
        status
    }

    pub fn surround(
        &self,
        active: ActiveLaunch,
        launch: impl FnOnce() -> Status,
    ) -> (Status, Queued) {
        let events = [(); 2].map(|()| runtime().events.take());
        record(events[0], self.stream());
        let status = launch();
        record(events[1], self.stream());
        let queued = Queued {
            active,
            events,
            results: None,
            refused: (!status.is_success()).then(|| status.to_string()),
        };
        (status, queued)
    }

    /// Reports how tracing may have caused CUDA to refuse a launch.
    pub fn explain_refusal(&self, kernel: &Kernel, status: Status) {
        let threads = self.block.iter().product::<u32>() as c_int;
        let name = &kernel.name;
        match status {
            Status::LAUNCH_OUT_OF_RESOURCES => session().fault(format!(
                "failed to launch {name} with its probe: a CTA of {threads} threads needs more registers than an SM has, because \
                 tracing increases register use; build for this GPU's architecture (--gpu-arch), which limits registers so that CTAs that \
                 fit without tracing still fit, launch smaller CTAs, or give the kernel __launch_bounds__({threads})"
            )),
            Status::COOPERATIVE_LAUNCH_TOO_LARGE => {
                let ctas = ctas_on_sm(kernel.stub, threads, self.shared_bytes).unwrap_or(0);
                let attribute = cudaDeviceAttr::cudaDevAttrMultiProcessorCount;
                let sms = attribute_of(current_device(), attribute).unwrap_or(0);
                let wanted = self.grid.iter().map(|&n| u64::from(n)).product::<u64>();
                session().fault(format!(
                    "failed to launch {name} with its probe: only {} CTAs of the traced kernel fit on the device at the same time, but \
                     the cooperative launch has {wanted}; query cudaOccupancyMaxActiveBlocksPerMultiprocessor instead of hard-coding \
                     the number, or launch fewer CTAs",
                    ctas * sms
                ));
            }
            _ => {}
        }
    }
}

/// Returns whether all CTAs fit on the device at the same time, ignoring registers and shared memory.
fn may_be_resident(grid: [u32; 3], block: [u32; 3]) -> bool {
    let device = current_device();
    let attribute = |attribute| {
        let value = attribute_of(device, attribute).ok()?;
        Some(u64::from(value.unsigned_abs()))
    };
    let product = |extent: [u32; 3]| extent.iter().map(|&n| u64::from(n)).product::<u64>();
    let max_ctas = || {
        let threads = attribute(cudaDeviceAttr::cudaDevAttrMaxThreadsPerMultiProcessor)?;
        let ctas = attribute(cudaDeviceAttr::cudaDevAttrMaxBlocksPerMultiprocessor)?;
        let sms = attribute(cudaDeviceAttr::cudaDevAttrMultiProcessorCount)?;
        Some(sms * (threads / product(block)).min(ctas))
    };
    max_ctas().is_none_or(|max| product(grid) <= max)
}

fn attributes(kernel: &Kernel) -> Option<&cudaFuncAttributes> {
    let attributes = kernel.attributes.get_or_init(|| attributes_of(kernel.stub));
    attributes.as_ref()
}

pub fn geometry(
    kernel: &Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: usize,
) -> Geometry {
    let attributes = attributes(kernel);
    kernel.resources.call_once(|| {
        let threads = block.iter().product();
        let resources = attributes.and_then(|attributes| {
            resources_of(attributes, kernel.stub, threads, dynamic_shared_bytes)
        });
        if let Some(resources) = resources {
            session().kernel_resources(&kernel.name, resources);
        }
    });
    Geometry {
        grid,
        block,
        dynamic_shared_bytes: dynamic_shared_bytes as u64,
        static_shared_bytes: attributes.map_or(0, |attributes| attributes.sharedSizeBytes as u64),
        device: current_device(),
    }
}

/// Reports a launch that cannot be recorded; returns the error for the program.
pub fn cannot_launch(kernel: &str, error: RecordError) -> Status {
    if let RecordError::Refused(status) = error {
        return status;
    }
    session().fault(format!("failed to launch {kernel} with its probe: {error}"));
    Status::MEMORY_ALLOCATION
}

/// Calls `run` with the arguments of a kernel, followed by the two trailing ones.
pub fn with_trailing(
    kernel: &Kernel,
    arguments: Arguments,
    mut trailing: [u64; 2],
    run: impl FnOnce(Arguments) -> Status,
) -> Status {
    let mut all = Vec::with_capacity(kernel.parameters + 2);
    // SAFETY: the program passes one pointer for each of the kernel's own parameters, or null.
    all.extend_from_slice(unsafe { slice(arguments, kernel.parameters) });
    let trailing = trailing.iter_mut();
    all.extend(trailing.map(|word| std::ptr::from_mut(word).cast::<c_void>()));
    run(all.as_mut_ptr())
}

/// Records an event, if there is one. After a failure, the time is unknown.
pub fn record(event: Option<Event>, stream: Stream) {
    if let Some(event) = event {
        event.record(stream);
    }
}

/// Reports `kernel` if `status` means that no image in the program contains its device code. This counts as a fault of
/// the run, because libraries that probe for kernels, such as CUB, ignore the error; the program then computes nothing
/// but appears to work.
fn report_missing(kernel: &str, status: Status) {
    let is_missing = matches!(
        status,
        Status::INVALID_DEVICE_FUNCTION | Status::NO_KERNEL_IMAGE | Status::NAMED_SYMBOL_NOT_FOUND
    );
    if is_missing {
        session().fault(format!(
            "no image in the program contains kernel {kernel} for this GPU ({status}); compile the host and device code in its file for the same \
             architectures, including this GPU's"
        ));
    }
}

/// Returns `status`, the result of a query about a kernel; reports the kernel if its device code is missing.
pub fn report_if_missing(stub: Stub, status: Status) -> Status {
    if !status.is_success()
        && let Some(kernel) = runtime().kernel(stub)
    {
        report_missing(&kernel.name, status);
    }
    status
}
