//! The process-wide state behind the interposed functions.

use crate::cuda::device::{Buffer, Device, EventPool, current_device};
use crate::cuda::ffi;
use crate::cuda::real;
use crate::interpose::ends;
use crate::model::graphs::Graphs;
use crate::model::imported::Imported;
use crate::model::modules::{Kernel, Modules};
use crate::recorder::children::Children;
use crate::recorder::count::Counters;
use crate::recorder::drain::lanes::{Lane, Lanes, Transport};
use crate::recorder::drain::monitor::Monitor;
use crate::recorder::drain::signals;
use crate::recorder::in_situ::InSitu;
use crate::recorder::probed::ProbeMemory;
use crate::recorder::stream;
use crate::recorder::thesis::bins::Shape;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;
use superstep_runtime_core::{AllocatedBy, Session, is_used_fork};
use superstep_trace::{AllocationKind, Backend, Probe, Protocol, StreamId};

/// Bins that a stream's buffer has at most, unless asked for.
const MOST_BINS: usize = 128;
/// Records of a bin, unless asked for: 1.5 MiB.
const BIN_RECORDS: usize = 64 << 10;
/// Traced kernels that are loaded in advance, at most.
const MOST_LOADED: usize = 100;
/// How long an ending program waits for a stream in which nothing moves.
pub const STALL: Duration = Duration::from_secs(10);

pub struct Runtime {
    /// The run's capture and summary.
    pub session: &'static Session,
    pub modules: Mutex<Modules>,
    pub events: EventPool,
    /// CUDA graphs with kernels of ours.
    pub graphs: Graphs,
    /// What kernels ask for.
    pub children: Children,
    pub probe_memory: ProbeMemory,
    pub lanes: Lanes,
    pub in_situ: InSitu,
    pub imported: Imported,
    monitor: OnceLock<Monitor>,
    device: OnceLock<Result<Device, String>>,
    counters: Mutex<HashMap<StreamId, Arc<Counters>>>,
    built_for: Mutex<Option<Result<Protocol, String>>>,
    ended: AtomicBool,
    /// A bit for each device on which [`prepare`](Self::prepare) was called.
    prepared: AtomicU64,
}

pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime {
        session: Session::global(Backend::Cuda),
        modules: Mutex::default(),
        events: EventPool::default(),
        graphs: Graphs::default(),
        children: Children::default(),
        probe_memory: ProbeMemory::default(),
        lanes: Lanes::default(),
        in_situ: InSitu::default(),
        imported: Imported::default(),
        monitor: OnceLock::new(),
        device: OnceLock::new(),
        counters: Mutex::default(),
        built_for: Mutex::default(),
        ended: AtomicBool::new(false),
        prepared: AtomicU64::new(0),
    })
}

impl Runtime {
    /// The device of the run: that of the first call. `None` without a GPU, which the summary then says.
    pub fn device(&self) -> Option<&Device> {
        let device = self.device.get_or_init(|| {
            let device = Device::current();
            match &device {
                Ok(device) => self.session.set_device(device.info.clone()),
                Err(error) => self.session.warning(format!(
                    "{error}; the program runs as it would without Superstep"
                )),
            }
            device
        });
        device.as_ref().ok()
    }

    /// The device, for a launch. Many programs do not look whether their launches succeed, compute nothing and seem fine: without a device
    /// it is a fault of the run.
    pub fn device_to_launch_on(&self) -> Option<&Device> {
        static TOLD: Once = Once::new();
        self.device();
        match self.device.get()? {
            Ok(device) => Some(device),
            Err(error) => {
                TOLD.call_once(|| self.session.fault(format!("no kernel ran: {error}")));
                None
            }
        }
    }

    /// Whether the run has ended. Destructors and handlers of the program that come later may still use CUDA.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Whether CUDA is gone, as it is for objects and handlers that were there before its first call: its own exit handler runs after ours.
    pub fn is_unloaded(&self) -> bool {
        let (mut free, mut total) = (0, 0);
        self.has_ended()
            // SAFETY: both pointers lead to numbers.
            && unsafe { real::memory_info(&mut free, &mut total) } == ffi::CUDART_UNLOADING
    }

    /// Arranges for the end of the run, or ends it again. To be called when the CUDA context exists: handlers run last first, and ours
    /// needs a living context.
    pub fn hook_exit(&self) {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            // SAFETY: the handler is a plain function of this library, which is never unloaded before exit.
            unsafe { libc::atexit(at_exit) };
            ends::install();
            signals::install();
        });
        if self.has_ended() && !is_used_fork() {
            // It may have been the program's last call, so nothing is left to later.
            if !self.lanes.wait(STALL) {
                self.lanes.stop(Duration::ZERO);
            }
            self.settle();
            self.session.finish_at_exit();
        }
    }

    /// Before the program's first allocation on a device: takes the memory that the first stream's trace needs and loads the traced
    /// kernels, which are larger than the untraced ones. A program that takes all the memory there is would leave too little.
    pub fn prepare(&'static self) {
        if self.prepared.load(Ordering::Relaxed) == u64::MAX {
            return;
        }
        if self.session.registry().probe() != Probe::Trace
            || self.protocol() != Ok(Protocol::Stream)
        {
            self.prepared.store(u64::MAX, Ordering::Relaxed);
            return;
        }
        let device = current_device();
        let bit = 1u64 << (device as u32 % 63);
        if self.prepared.fetch_or(bit, Ordering::AcqRel) & bit != 0 || self.device().is_none() {
            return;
        }
        let mode = real::relax_capture_mode();
        self.monitor();
        // What fails here is tried again by the first launch, which says why it fails.
        let _ = self.lanes.prepare(device, &|| self.stream_transport(false));
        let stubs = self.modules.lock().traced_stubs(MOST_LOADED);
        for stub in stubs {
            real::attributes_of(stub);
        }
        real::restore_capture_mode(mode);
        self.hook_exit();
    }

    /// The monitor thread, started when first needed.
    pub fn monitor(&'static self) -> &'static Monitor {
        self.monitor.get_or_init(|| {
            let ordinal = self.device().map_or(0, |device| device.ordinal);
            Monitor::start(self, ordinal)
        })
    }

    /// The kernel of a host stub.
    pub fn kernel(&self, stub: *const c_void) -> Option<Arc<Kernel>> {
        self.modules.lock().kernel(stub as usize)
    }

    /// Whether any module of the program carries a probe.
    pub fn is_probed(&self) -> bool {
        self.session.registry().probe() != Probe::None
    }

    /// A module's list says for which protocol its kernels were built: the same for all of them.
    pub fn built_for(&self, name: &str) {
        self.built_for.lock().get_or_insert_with(|| {
            name.parse().map_err(|_| format!("the program was built for the protocol {name:?}, which this library does not know; build it again"))
        });
    }

    /// The protocol of this run; an error where the environment asks for another than the program was built for: its kernels would take
    /// the buffers for something else.
    pub fn protocol(&self) -> Result<Protocol, String> {
        match (
            self.built_for.lock().clone(),
            self.session.config().protocol,
        ) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(built)), Some(asked)) if built != asked => Err(format!(
                "the program was built for --protocol {built}, but SUPERSTEP_PROTOCOL asks for {asked}; build it for that one, or unset the variable"
            )),
            (Some(Ok(built)), _) => Ok(built),
            (None, asked) => Ok(asked.unwrap_or_default()),
        }
    }

    /// The lane of a stream of the calling thread's device.
    pub fn lane(&'static self, stream: StreamId) -> Result<Arc<Lane>, String> {
        self.monitor();
        let transport = || match self.protocol()? {
            Protocol::Stream => self.stream_transport(false),
            Protocol::Thesis => self.thesis_transport(),
            Protocol::InSitu => Err("the protocol in-situ records nothing".to_owned()),
        };
        self.lanes.of(stream, current_device(), &transport)
    }

    /// A lane for kernels of a CUDA graph, on the calling thread's device.
    pub fn graph_lane(&'static self) -> Result<Arc<Lane>, String> {
        self.monitor();
        let protocol = self.protocol()?;
        if protocol != Protocol::Stream {
            return Err(format!(
                "the protocol {protocol} cannot follow CUDA graphs; build the program with --protocol stream"
            ));
        }
        let transport = || self.stream_transport(true);
        self.lanes.of_graph(current_device(), &transport)
    }

    fn thesis_transport(&self) -> Result<Transport, String> {
        let config = self.session.config();
        let sms = Device::current()?.sms;
        let usual = (sms.next_power_of_two().min(MOST_BINS), BIN_RECORDS);
        let bins = config.bins.map_or(usual.0, |bins| bins as usize);
        let records = config
            .bin_records
            .map_or(usual.1, |records| records as usize);
        let wanted = Shape::rounded(bins, records);
        let buffer = Buffer::new(wanted)?;
        if buffer.shape != wanted {
            let (got, asked) = (buffer.shape.bin_records, wanted.bin_records);
            self.session.warning(format!(
                "host memory is short: bins hold {got} records instead of {asked}"
            ));
        }
        Ok(Transport::Thesis(buffer))
    }

    fn stream_transport(&self, of_graph: bool) -> Result<Transport, String> {
        let lookup =
            |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let sms = Device::current()?.sms;
        let (mut settings, problems) = stream::Settings::read(self.session.config(), sms, lookup);
        for problem in problems {
            self.session.fault(problem);
        }
        if of_graph {
            settings = settings.for_graph();
        }
        let buffer = stream::Buffer::new(&settings)?;
        let (got, asked) = (buffer.shape, settings.shape);
        if got.host_slots != asked.host_slots {
            self.session.warning(format!(
                "host memory is short: it has room for {} pieces of each ring instead of {}",
                got.host_slots, asked.host_slots
            ));
        }
        if (got.slots, got.piece_units) != (asked.slots, asked.piece_units) {
            self.session.warning(format!(
                "device memory is short: rings have {} pieces of {} bytes instead of {} of {}",
                got.slots,
                got.piece_bytes(),
                asked.slots,
                asked.piece_bytes()
            ));
        }
        Ok(Transport::Stream(buffer, settings))
    }

    /// The counters of a stream, for all modules registered by now.
    pub fn counters(&self, stream: StreamId) -> Result<Arc<Counters>, String> {
        let registry = self.session.registry();
        let mut counters = self.counters.lock();
        match counters.get(&stream) {
            Some(known) if known.modules == registry.count() => Ok(known.clone()),
            _ => {
                let made = Arc::new(Counters::new(&registry.from(0))?);
                counters.insert(stream, made.clone());
                Ok(made)
            }
        }
    }

    /// Number of the stream with a handle; `per_thread` says what the handle 0 means.
    pub fn stream(&self, handle: ffi::Stream, per_thread: bool) -> StreamId {
        let handle = handle as usize;
        if handle > ffi::PER_THREAD_STREAM {
            return self.session.stream_id(handle as u64);
        }
        let device = current_device();
        let other_device =
            (self.device().is_some_and(|first| first.ordinal != device)).then_some(device);
        let per_thread = handle == ffi::PER_THREAD_STREAM || handle == 0 && per_thread;
        self.session.default_stream(other_device, per_thread)
    }

    pub fn stream_destroyed(&self, handle: ffi::Stream) {
        let stream = self.stream(handle, false);
        self.session.stream_destroyed(handle as u64);
        self.lanes.retire(stream);
    }

    /// Notes an allocation that succeeded.
    pub fn allocated(&self, address: u64, bytes: u64, kind: AllocationKind) {
        self.device();
        // The program may never launch anything.
        self.hook_exit();
        if address != 0 {
            let by = AllocatedBy::Caller;
            (self.in_situ).allocated(self, address, bytes, &kind);
            (self.session).allocate(by, current_device(), address, bytes, kind);
        }
    }

    /// Notes that an allocation is given back.
    pub fn freed(&self, address: u64) {
        self.session.free(address);
        self.in_situ.freed(self, address);
    }

    /// Waits for what is in the streams and ends all consumers. The context must still live.
    pub fn quiesce(&self) {
        self.lanes.stop(STALL);
        self.settle();
    }

    /// Waits for all that is left when the lanes are empty.
    fn settle(&self) {
        self.note_totals();
        let monitor = self.monitor.get();
        if monitor.is_some_and(|monitor| !monitor.wait(STALL)) {
            self.not_finished();
        } else {
            self.write_rest();
        }
    }

    /// Waits for what no launch waits for, and writes it.
    pub fn write_rest(&self) {
        match self.graphs.wait_for_counts(STALL) {
            true => self.in_situ.finish(self),
            false => self.not_finished(),
        }
    }

    fn not_finished(&self) {
        (self.session)
            .fault("the device did not finish its work; the last launches are not in the results");
    }

    /// Leaves in the capture what came over the bus, for `superstep-bench capture` and whoever looks for it.
    fn note_totals(&self) {
        let totals = &stream::workers::TOTALS;
        let take = |total: &AtomicU64| total.swap(0, Ordering::Relaxed);
        let transport = superstep_trace::Transport {
            bytes: take(&totals.bytes),
            pieces: take(&totals.pieces),
            groups: take(&totals.groups),
            accesses: take(&totals.accesses),
        };
        if transport.pieces > 0 {
            self.session.transport(transport);
        }
    }

    /// The program resets the device: nothing on it stays valid.
    pub fn before_reset(&self) {
        let device = current_device();
        self.quiesce();
        let bit = 1u64 << (device as u32 % 63);
        self.prepared.fetch_and(!bit, Ordering::AcqRel);
        self.graphs.clear();
        self.children.forget(device);
        self.in_situ.forget(self, device);
        self.events.clear();
        self.counters.lock().clear();
        self.session.free_all(device);
        self.modules.lock().forget_variables(device);
    }
}

extern "C" fn at_exit() {
    let runtime = runtime();
    // The threads that it would wait for are the parent's.
    if is_used_fork() {
        return;
    }
    if !runtime.ended.swap(true, Ordering::AcqRel) {
        runtime.quiesce();
        runtime.session.finish_at_exit();
    }
}

/// Arranges for a summary even of a program that never calls CUDA.
pub fn hook_exit_early() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // SAFETY: as in `Runtime::hook_exit`.
        unsafe { libc::atexit(at_exit) };
    });
}
