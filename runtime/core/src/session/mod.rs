//! One run of a traced program: numbers its launches and allocations, writes the capture, sums up.

mod caller;
mod capture;
mod report;

use crate::probe::{Collector, Found, Layout, api};
use crate::{Config, Registry, process, registry};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::time::Instant;
use superstep_trace::{
    AllocationId, AllocationKind, Backend, CaptureWriter, Chooser, ChunkBuilder, CopyDirection,
    DeviceInfo, Event, HostCopy, HostMemset, KernelResources, KernelTotals, Launch, LaunchCounts,
    LaunchEnd, LaunchId, LaunchOutcome, ModuleTable, Recorded, SiteId, SourcePlace, StreamId,
    StreamWriter, TraceError,
};

/// What the host asks for when it launches a kernel.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest<'a> {
    /// Stream it is queued in.
    pub stream: StreamId,
    /// Mangled name of the kernel.
    pub kernel: &'a str,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Shared memory asked for at launch.
    pub dynamic_shared_bytes: u64,
    /// Shared memory that the kernel declares.
    pub static_shared_bytes: u64,
}

/// A launch that has begun.
#[derive(Clone)]
pub struct ActiveLaunch {
    /// What the capture says about it.
    pub launch: Launch,
    /// Where its accesses go; none without a capture.
    pub writer: Option<StreamWriter>,
    /// How much of it is recorded and counted.
    pub recorded: Recorded,
}

/// The run. All methods may be called from any thread; none panics, and what goes wrong with the capture becomes a fault in the summary.
pub struct Session {
    collector: Option<Collector>,
    config: Config,
    backend: Backend,
    registry: &'static Registry,
    start_unix_ns: u64,
    start: Instant,
    state: Mutex<State>,
    messages: Mutex<Messages>,
    records_lost: AtomicU64,
    bad_addresses: AtomicU64,
}

#[derive(Default)]
struct State {
    device: DeviceInfo,
    capture: CaptureState,
    chooser: Chooser,
    modules_written: usize,
    next_sequence: u64,
    /// Of the launch that began last.
    latest_launch: u64,
    next_allocation: u32,
    live: BTreeMap<u64, AllocationId>,
    streams: HashMap<u64, StreamId>,
    next_stream: u32,
    next_launch: HashMap<StreamId, u32>,
    kernels: Vec<KernelTotals>,
    kernel_index: HashMap<String, usize>,
    counts: Option<Vec<LaunchCounts>>,
    /// Those that the capture names already.
    untraced_kernels: HashSet<Option<String>>,
}

#[derive(Default)]
enum CaptureState {
    #[default]
    Unopened,
    Open(CaptureWriter),
    /// Not asked for, failed or finished.
    Closed,
}

#[derive(Default)]
struct Messages {
    faults: Vec<String>,
    warnings: Vec<String>,
}

impl Session {
    /// A session as `config` asks for it. Nothing is written before the first event.
    pub fn new(config: Config, backend: Backend, registry: &'static Registry) -> Self {
        let state = State {
            chooser: Chooser::new(&config.selection),
            ..State::default()
        };
        let collector = config.probe_results.clone();
        Session {
            collector: collector.map(Collector::new),
            config,
            backend,
            registry,
            start_unix_ns: process::unix_ns(),
            start: Instant::now(),
            state: Mutex::new(state),
            messages: Mutex::default(),
            records_lost: AtomicU64::new(0),
            bad_addresses: AtomicU64::new(0),
        }
    }

    /// The program's session, made from the environment by the first call. A variable that cannot be used becomes a fault,
    /// and the defaults are taken.
    pub fn global(backend: Backend) -> &'static Session {
        static SESSION: OnceLock<Session> = OnceLock::new();
        SESSION.get_or_init(|| {
            let (config, error) = match Config::from_environment() {
                Ok(config) => (config, None),
                Err(error) => {
                    let path = |name| {
                        std::env::var_os(name)
                            .filter(|value| !value.is_empty())
                            .map(Into::into)
                    };
                    let config = Config {
                        summary: path("SUPERSTEP_SUMMARY"),
                        capture: path("SUPERSTEP_CAPTURE"),
                        ..Config::default()
                    };
                    (config, Some(error))
                }
            };
            let session = Session::new(config, backend, registry());
            if let Some(error) = error {
                session.fault(error);
            }
            session
        })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Says which device runs the kernels; call before the first event.
    pub fn set_device(&self, device: DeviceInfo) {
        self.state.lock().device = device;
    }

    /// Number of the stream with the runtime's handle `handle`: 0 for the default stream (handles 0, 1 and 2), the next free number for one not seen yet.
    pub fn stream_id(&self, handle: u64) -> StreamId {
        if handle <= 2 {
            return StreamId(0);
        }
        let state = &mut *self.state.lock();
        *state.streams.entry(handle).or_insert_with(|| {
            state.next_stream += 1;
            StreamId(state.next_stream)
        })
    }

    /// Forgets a destroyed stream's handle, which the runtime may give out again.
    pub fn stream_destroyed(&self, handle: u64) {
        self.state.lock().streams.remove(&handle);
    }

    /// Numbers a launch and announces it in the capture.
    pub fn launch_begin(&self, request: &LaunchRequest<'_>) -> ActiveLaunch {
        let mut state = self.state.lock();
        let recorded = state.chooser.next(request.kernel, || {
            let (_, kernel) = self.registry.kernel(request.kernel)?;
            Some(kernel.display_name)
        });
        let number = state.next_launch.entry(request.stream).or_insert(0);
        let launch_id = LaunchId(*number);
        *number += 1;
        let sequence = state.sequence();
        state.latest_launch = sequence;
        let launch = Launch {
            sequence,
            stream: request.stream,
            launch: launch_id,
            kernel: request.kernel.to_owned(),
            grid: request.grid,
            block: request.block,
            dynamic_shared_bytes: request.dynamic_shared_bytes,
            static_shared_bytes: request.static_shared_bytes,
        };
        let writer = self.with_capture(&mut state, |capture| {
            capture.event(&Event::Launch(launch.clone()))?;
            if recorded != Recorded::All {
                capture.event(&Event::Selected {
                    stream: launch.stream,
                    launch: launch.launch,
                    recorded,
                })?;
            }
            capture.stream(launch.stream)
        });
        ActiveLaunch {
            launch,
            writer,
            recorded,
        }
    }

    /// Ends a launch; all of its chunks must be written. `thread_accesses` counts each lane.
    pub fn launch_end(
        &self,
        launch: &ActiveLaunch,
        thread_accesses: u64,
        elapsed_ns: u64,
        outcome: LaunchOutcome,
    ) {
        let launch = &launch.launch;
        let mut state = self.state.lock();
        let totals = state.kernel(&launch.kernel);
        totals.launches += 1;
        totals.ns += elapsed_ns;
        let (stream, launch) = (launch.stream, launch.launch);
        self.event(
            &mut state,
            &Event::LaunchEnd(LaunchEnd {
                stream,
                launch,
                thread_accesses,
                elapsed_ns,
                outcome,
            }),
        );
    }

    /// Keeps what a kernel takes of a multiprocessor.
    pub fn kernel_resources(&self, kernel: &str, resources: KernelResources) {
        self.state.lock().kernel(kernel).resources = Some(resources);
    }

    /// Writes a chunk of a launch and leaves the builder empty. A failure becomes a fault, and the accesses count as lost.
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

    /// Numbers an allocation and notes it.
    pub fn allocate(&self, address: u64, bytes: u64, kind: AllocationKind) -> AllocationId {
        self.allocate_at(address, bytes, kind, None)
    }

    /// The same for an allocation that the program has called for on this thread: notes the line of the call, if the
    /// program's debug information has it.
    pub fn allocate_for_caller(
        &self,
        address: u64,
        bytes: u64,
        kind: AllocationKind,
    ) -> AllocationId {
        let place = (self.config.capture.is_some())
            .then(caller::place)
            .flatten();
        self.allocate_at(address, bytes, kind, place)
    }

    fn allocate_at(
        &self,
        address: u64,
        bytes: u64,
        kind: AllocationKind,
        place: Option<SourcePlace>,
    ) -> AllocationId {
        let mut state = self.state.lock();
        let sequence = state.sequence();
        self.note_allocation(&mut state, sequence, address, bytes, (kind, place))
    }

    /// Numbers an allocation that a running kernel made, and notes it as made right before the launch that began last: what a
    /// kernel accesses must be there when it begins.
    pub fn allocate_in_kernel(
        &self,
        address: u64,
        bytes: u64,
        kind: AllocationKind,
    ) -> AllocationId {
        let mut state = self.state.lock();
        let sequence = state.latest_launch.saturating_sub(1);
        self.note_allocation(&mut state, sequence, address, bytes, (kind, None))
    }

    fn note_allocation(
        &self,
        state: &mut State,
        sequence: u64,
        address: u64,
        bytes: u64,
        (kind, place): (AllocationKind, Option<SourcePlace>),
    ) -> AllocationId {
        let id = AllocationId(state.next_allocation);
        state.next_allocation += 1;
        state.live.insert(address, id);
        self.event(
            state,
            &Event::Allocate {
                sequence,
                id,
                address,
                bytes,
                kind,
                place,
            },
        );
        id
    }

    /// Notes that the allocation starting at `address` was given back; `None` when there is none.
    pub fn free(&self, address: u64) -> Option<AllocationId> {
        let mut state = self.state.lock();
        let id = state.live.remove(&address)?;
        let sequence = state.sequence();
        self.event(&mut state, &Event::Free { sequence, id });
        Some(id)
    }

    /// Notes a copy made by the host.
    pub fn copy(
        &self,
        direction: CopyDirection,
        destination: u64,
        source: u64,
        bytes: u64,
        stream: StreamId,
    ) {
        let mut state = self.state.lock();
        let sequence = state.sequence();
        self.event(
            &mut state,
            &Event::Copy(HostCopy {
                sequence,
                direction,
                destination,
                source,
                bytes,
                stream,
            }),
        );
    }

    /// Notes that the host filled memory.
    pub fn memset(&self, address: u64, bytes: u64, value: u8, stream: StreamId) {
        let mut state = self.state.lock();
        let sequence = state.sequence();
        self.event(
            &mut state,
            &Event::Memset(HostMemset {
                sequence,
                address,
                bytes,
                value,
                stream,
            }),
        );
    }

    /// Keeps what a defined probe left in the memory of a launch: the fields' bytes and the copies of the tables.
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
        if self.collector.is_none() && !api::is_observed() {
            return;
        }
        let keep = &self.config.probe_threads;
        let found = Found::of(probe, layout, (fields, tables), keep, &launch.launch);
        if let Some(collector) = &self.collector {
            let modules = self.registry.from(0);
            let (index, launch) = (module.module, &launch.launch);
            let written = collector.launch(&modules, index, launch, layout, elapsed_ns, &found);
            if let Err(error) = written {
                self.fault(error);
            }
        }
        let left = api::Seen {
            values: &found.values,
            tables: &found.tables,
            elapsed_ns,
        };
        api::show(probe, &launch.launch, layout, left);
    }

    /// Whether a launch that has begun is to have its probe, as far as the selection and the program's switch go.
    pub fn wants_probe(&self, launch: &ActiveLaunch) -> bool {
        launch.recorded == Recorded::All && api::is_on()
    }

    /// Asks the program about the probe of a launch, which may change the parameters: whether it is to have it.
    pub fn ask_about_probe(
        &self,
        launch: &ActiveLaunch,
        module: &ModuleTable,
        layout: &Layout,
        parameters: &mut [u64],
    ) -> bool {
        let probe = module.defined.as_ref();
        probe.is_none_or(|probe| api::ask(probe, &launch.launch, layout, parameters))
    }

    /// Keeps what the counting probe counted in a launch; sites with a count of 0 are left out.
    pub fn site_counts(
        &self,
        launch: &ActiveLaunch,
        counts: impl IntoIterator<Item = (SiteId, u64)>,
    ) {
        let sites = counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(site, count)| (site.0, count))
            .collect();
        let Launch {
            stream,
            launch,
            kernel,
            ..
        } = &launch.launch;
        let counts = LaunchCounts {
            stream: stream.0,
            launch: launch.0,
            kernel: kernel.clone(),
            sites,
        };
        self.state
            .lock()
            .counts
            .get_or_insert_default()
            .push(counts);
    }
}

impl State {
    fn sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence - 1
    }

    fn kernel(&mut self, name: &str) -> &mut KernelTotals {
        let index = match self.kernel_index.get(name) {
            Some(&index) => index,
            None => {
                self.kernels.push(KernelTotals {
                    name: name.to_owned(),
                    launches: 0,
                    ns: 0,
                    resources: None,
                });
                self.kernel_index
                    .insert(name.to_owned(), self.kernels.len() - 1);
                self.kernels.len() - 1
            }
        };
        &mut self.kernels[index]
    }
}

#[cfg(test)]
mod tests;
