//! A run of a traced program. Numbers launches and allocations, and writes the capture and the summary.

mod caller;
mod capture;
mod in_situ;
mod journal;
mod launch;
mod memory;
mod opaque;
mod report;
mod streams;

use crate::in_situ::Shadow;
use crate::probe::{Found, KeptThreads, Layout, TooLarge, api, read_kept_threads};
use crate::process::{Identity, environment};
use crate::{Registry, forks, process, registry};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
pub use streams::thread_number;
use superstep_abi::{Config, variable};
use superstep_trace::{
    AllocationId, Backend, CaptureWriter, Chooser, ChunkBuilder, DeviceInfo, Event, Journal,
    KernelResources, Launch, LaunchEnd, LaunchOutcome, LaunchSums, ModuleTable, Note, Outcome,
    Parts, ProbeWriter, Protocol, Recorded, SiteId, StreamId, StreamWriter, TraceError,
};

/// Grid and CTA dimensions, shared memory and device of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u64,
    pub static_shared_bytes: u64,
    pub device: i32,
}

#[derive(Clone)]
pub struct ActiveLaunch {
    pub launch: Launch,
    pub number: u32,
    pub writer: Option<StreamWriter>,
    pub recorded: Recorded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatedBy {
    /// A module of the program, for its variables.
    Module,
    /// A call by the program on this thread; the call's source line is recorded.
    Caller,
    /// A running kernel. The allocation's sequence number is below that of the latest launch, since the
    /// allocation must precede the kernels that access it.
    Kernel,
}

/// A run. Its methods do not panic; a failure to write the capture becomes a fault in the summary.
pub struct Session {
    kept_threads: KeptThreads,
    identity: Identity,
    config: Config,
    backend: Backend,
    registry: &'static Registry,
    start_unix_ns: u64,
    start: Instant,
    device: OnceLock<DeviceInfo>,
    state: Mutex<State>,
    /// Can be locked while `state` is locked, but not vice versa.
    journal: Mutex<Output<Journal>>,
    /// The probe's results, created when first written.
    results: Mutex<Option<ProbeWriter>>,
    shadow: Option<Shadow>,
    messages: Mutex<Messages>,
    /// Whether the run has ended. Destructors and exit handlers can still use CUDA afterwards.
    has_ended: AtomicBool,
}

#[derive(Default)]
struct State {
    capture: Output<CaptureWriter>,
    outcome: Option<Outcome>,
    /// Allocations by modules before any other event.
    early: Vec<Event>,
    chooser: Chooser,
    modules_written: usize,
    next_sequence: u64,
    /// Sequence number of the latest launch.
    latest_launch: u64,
    launches: u32,
    next_allocation: u32,
    live: BTreeMap<u64, Live>,
    shares_memory: bool,
    streams: HashMap<u64, StreamId>,
    next_stream: u32,
    /// The first host thread to use its own default stream.
    first_thread: Option<u64>,
    next_launch: HashMap<StreamId, u32>,
    has_opaque_launches: bool,
}

#[derive(Clone, Copy)]
struct Live {
    id: AllocationId,
    device: i32,
    bytes: u64,
}

#[derive(Default)]
enum Output<T> {
    #[default]
    Unopened,
    Open(T),
    /// Not requested, or closed after a failure.
    Closed,
}

#[derive(Default)]
struct Messages {
    faults: Vec<String>,
    warnings: Vec<String>,
}

impl Session {
    pub fn new(config: Config, backend: Backend, registry: &'static Registry) -> Self {
        let state = State {
            chooser: Chooser::new(&config.selection),
            ..State::default()
        };
        let kept_threads = read_kept_threads(&config.probe_threads);
        let is_in_situ = backend == Backend::Cpu
            && config.protocol == Some(Protocol::InSitu)
            && config.capture.is_some();
        let shadow = is_in_situ.then(|| Shadow::new(config.cta_blocks));
        let session = Session {
            kept_threads: kept_threads.clone().unwrap_or_default(),
            identity: Identity::new(environment),
            config,
            backend,
            registry,
            start_unix_ns: process::unix_ns(),
            start: Instant::now(),
            device: OnceLock::new(),
            state: Mutex::new(state),
            journal: Mutex::default(),
            results: Mutex::default(),
            shadow,
            messages: Mutex::default(),
            has_ended: AtomicBool::new(false),
        };
        if let Err(error) = kept_threads {
            session.fault(error);
        }
        session
    }

    /// Returns the program's session, which the first call creates from the environment. An invalid variable is
    /// reported as a fault, and defaults are used instead.
    pub fn global(backend: Backend) -> &'static Session {
        static SESSION: OnceLock<Session> = OnceLock::new();
        let session = SESSION.get_or_init(|| {
            let read = Config::from_env(environment);
            let config = read.clone().unwrap_or_else(|_| {
                let outputs = [variable::SUMMARY, variable::CAPTURE];
                let lookup = |name: &str| environment(name).filter(|_| outputs.contains(&name));
                Config::from_env(lookup).unwrap_or_default()
            });
            let session = Session::new(config, backend, registry());
            // Open the journal right away, since the program might never use CUDA.
            session.note(|_| Ok(()));
            if let Err(error) = read {
                session.fault(error);
            }
            session
        });
        forks::watch(session);
        session
    }

    /// Takes the locks before a fork, so that no other thread can hold them in the new process.
    pub(crate) fn hold(&self) {
        std::mem::forget(self.state.lock());
        std::mem::forget(self.journal.lock());
    }

    /// # Safety
    /// The calling thread, or the one that it was forked from, has called [`hold`](Self::hold).
    pub(crate) unsafe fn release(&self) {
        // SAFETY: this thread, or the one that it was forked from, locked both in `hold`.
        unsafe {
            self.journal.force_unlock();
            self.state.force_unlock();
        }
    }

    /// Abandons the parent's capture and journal in a forked process, which holds the locks; returns whether there was a
    /// capture.
    pub(crate) fn leave_to_parent(&self) -> bool {
        // SAFETY: this process has one thread, which holds the locks.
        let (state, journal) = unsafe {
            let state = &mut *self.state.data_ptr();
            (state, &mut *self.journal.data_ptr())
        };
        let has_begun = !matches!(state.capture, Output::Unopened);
        *journal = Output::Unopened;
        if has_begun {
            state.capture = Output::Closed;
            *journal = Output::Closed;
        }
        has_begun
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn registry(&self) -> &'static Registry {
        self.registry
    }

    pub fn set_device(&self, device: DeviceInfo) {
        self.note(|journal| journal.add(Note::Device(device.clone())));
        self.device.get_or_init(|| device);
    }

    fn device(&self) -> DeviceInfo {
        self.device.get().cloned().unwrap_or_default()
    }

    /// Ends a launch. All its chunks must have been written. `thread_accesses` counts each lane separately.
    pub fn launch_end(
        &self,
        launch: &ActiveLaunch,
        thread_accesses: u64,
        elapsed_ns: u64,
        outcome: LaunchOutcome,
    ) {
        let launch = &launch.launch;
        let mut state = self.state.lock();
        let ns = elapsed_ns;
        self.note(|journal| {
            journal.add_for_kernel(&launch.kernel, |kernel| Note::Launch { kernel, ns })
        });
        let end = LaunchEnd {
            stream: launch.stream,
            launch: launch.launch,
            thread_accesses,
            elapsed_ns,
            outcome,
        };
        self.event(&mut state, &Event::LaunchEnd(end));
        drop(state);
        self.end_again();
    }

    /// Writes the sums of a launch. Must be called before [`launch_end`](Self::launch_end).
    pub fn launch_sums(&self, sums: LaunchSums) {
        self.event(&mut self.state.lock(), &Event::Sums(sums));
    }

    /// Writes parts of the in-situ tables.
    pub fn parts(&self, parts: Parts) {
        if !parts.is_empty() {
            // Seal without the lock, since sealing is slow.
            let parts = parts.seal();
            self.with_capture(&mut self.state.lock(), |capture| capture.parts(parts));
        }
    }

    pub fn kernel_resources(&self, kernel: &str, resources: KernelResources) {
        self.note(|journal| {
            journal.add_for_kernel(kernel, |kernel| Note::Resources(kernel, resources))
        });
    }

    /// Writes a chunk of a launch and empties the builder. After a failure, the accesses count as lost.
    pub fn write_chunk(&self, launch: &ActiveLaunch, chunk: &mut ChunkBuilder) {
        let Some(writer) = &launch.writer else {
            if self.config.capture.is_some() {
                self.records_lost(chunk.thread_accesses());
            }
            return chunk.restart(chunk.launch());
        };
        let accesses = chunk.thread_accesses();
        if let Err(error) = writer.flush(chunk) {
            self.records_lost(accesses);
            if !matches!(error, TraceError::WriterStopped { .. }) {
                self.fault(error);
            }
        }
    }

    fn numbered(&self, event: impl FnOnce(u64) -> Event) {
        let mut state = self.state.lock();
        let event = event(state.sequence());
        self.event(&mut state, &event);
    }

    /// Returns a kernel's module and the [`Layout`] of a launch with its probe, if the kernel reaches any of the probe's
    /// places.
    pub fn probe_layout(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        replicas: u32,
    ) -> Result<Option<(Arc<ModuleTable>, Layout)>, TooLarge> {
        let Some((module, _)) = self.registry.kernel(kernel) else {
            return Ok(None);
        };
        let Some(probe) = &module.defined else {
            return Ok(None);
        };
        let layout = Layout::of(probe, kernel, grid, block, replicas)?;
        Ok(layout.map(|layout| (module, layout)))
    }

    /// Returns the probe's parameters for a launch, and whether the selection, the program's switch and its observers enable
    /// the probe.
    pub fn probe_parameters(
        &self,
        launch: &ActiveLaunch,
        module: &ModuleTable,
        layout: &Layout,
    ) -> (Vec<u64>, bool) {
        let mut parameters = self.config.probe_parameters.clone();
        let Some(probe) = &module.defined else {
            return (Vec::new(), false);
        };
        parameters.resize(probe.spec.parameters.len(), 0);
        let is_wanted = launch.recorded == Recorded::All
            && api::is_on()
            && api::before_launch(probe, &launch.launch, layout, &mut parameters);
        (parameters, is_wanted)
    }

    /// Stores the results of a probe: the bytes of its fields and the copies of its tables.
    pub fn probe_results(
        &self,
        launch: &ActiveLaunch,
        module: &ModuleTable,
        layout: &Layout,
        elapsed_ns: u64,
        fields: &[u8],
        tables: &[u64],
    ) {
        let Some(probe) = &module.defined else {
            return;
        };
        if self.config.probe_results.is_none() && !api::is_observed() {
            return;
        }
        let keep = &self.kept_threads;
        let found = Found::of(probe, layout, fields, tables, keep, &launch.launch);
        self.add_results(|writer| {
            found.write(writer, module.module, &launch.launch, layout, elapsed_ns)
        });
        api::after_launch(probe, &launch.launch, layout, &found, elapsed_ns);
    }

    /// Writes to the probe's results, if they are requested, after adding the modules loaded so far.
    fn add_results(&self, write: impl FnOnce(&mut ProbeWriter) -> Result<(), TraceError>) {
        let Some(folder) = &self.config.probe_results else {
            return;
        };
        let mut results = self.results.lock();
        let written = match &mut *results {
            Some(writer) => Ok(writer),
            none => ProbeWriter::create(&self.identity.path(folder)).map(|new| none.insert(new)),
        };
        let written = written.and_then(|writer| {
            writer.modules(&self.registry.from(0))?;
            write(writer)
        });
        drop(results);
        // The lock is released first: a fault can end the run again, which writes to the results.
        if let Err(error) = written {
            self.fault(error);
        }
    }

    /// Records the nonzero counts of a launch.
    pub fn site_counts(
        &self,
        launch: &ActiveLaunch,
        counts: impl IntoIterator<Item = (SiteId, u64)>,
    ) {
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let launch = &launch.launch;
        let note = |kernel| Note::Counts {
            kernel,
            stream: launch.stream.0,
            launch: launch.launch.0,
            sites: counts.map(|(site, count)| (site.0, count)).collect(),
        };
        self.note(|journal| journal.add_for_kernel(&launch.kernel, note));
    }
}

impl State {
    fn sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence - 1
    }
}

#[cfg(test)]
mod tests;
