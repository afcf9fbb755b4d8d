//! The process-wide state behind the interposed functions.

use super::counting::Counting;
use super::drain::monitor::Monitor;
use super::drain::signals;
use super::in_situ::InSitu;
use super::launch::children::Children;
use super::probing::Probing;
use super::stream::workers::TOTALS;
use super::tracing::Tracing;
use super::{RecordError, Recorder, Timing};
use crate::cuda::device::{self, Device, EventPool, current_device};
use crate::cuda::graph::with_relaxed_capture;
use crate::cuda::{CudaError, Stream, StreamArgument, Stub};
use crate::model::graphs::Graphs;
use crate::model::imported::Imported;
use crate::model::modules::{Kernel, Modules};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Once, OnceLock};
use std::time::Duration;
use superstep_runtime_core::{Session, is_used_fork};
use superstep_trace::{Backend, Probe, Protocol, StreamId};

/// Maximum number of traced kernels that are loaded in advance.
const MAX_LOADED: usize = 100;
/// Maximum time for which an exiting program waits for a stream that makes no progress.
pub const STALL: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Runtime {
    pub modules: Mutex<Modules>,
    pub events: EventPool,
    pub graphs: Graphs,
    pub imported: Imported,
    pub children: Children,
    pub tracing: Tracing,
    pub in_situ: InSitu,
    counting: Counting,
    probing: Probing,
    monitor: OnceLock<Monitor>,
    device: OnceLock<Result<Device, CudaError>>,
    built_for: OnceLock<String>,
    ended: AtomicBool,
    /// A bit for each device on which [`prepare`](Self::prepare) was called.
    prepared: AtomicU64,
}

pub fn runtime() -> &'static Runtime {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(Runtime::default);
    &RUNTIME
}

pub fn session() -> &'static Session {
    Session::global(Backend::Cuda)
}

pub fn monitor() -> &'static Monitor {
    let runtime = runtime();
    runtime.monitor.get_or_init(|| {
        let ordinal = runtime.device().map_or(0, |device| device.ordinal);
        Monitor::start(ordinal)
    })
}

impl Runtime {
    /// Returns the run's device: the one current at the first call. Warns and returns `None` if there is no GPU.
    pub fn device(&self) -> Option<&Device> {
        let device = self.device.get_or_init(|| {
            let device = Device::current();
            match &device {
                Ok(device) => session().set_device(device.info.clone()),
                Err(error) => session().warning(format!(
                    "{error}; the program runs as it would without Superstep"
                )),
            }
            device
        });
        device.as_ref().ok()
    }

    /// Like [`device`](Self::device), but for a launch. Reports errors as faults, since many programs do not check
    /// their launches.
    pub fn device_to_launch_on(&self) -> Option<&Device> {
        static REPORTED: Once = Once::new();
        self.device();
        let report = |error| session().fault(format!("no kernel ran: {error}"));
        let device = self.device.get()?.as_ref();
        device
            .map_err(|error| REPORTED.call_once(|| report(error)))
            .ok()
    }

    /// Returns whether the run has ended. Destructors and handlers of the program may still use CUDA afterwards.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Returns whether CUDA's own exit handler, which runs after ours, has run.
    pub fn is_unloaded(&self) -> bool {
        self.has_ended() && device::is_unloading()
    }

    /// Registers the handlers that end the run; ends it again if it has already ended. Requires the CUDA context, since
    /// the handlers must run before its destruction.
    pub fn hook_exit(&self) {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            add_exit_handler();
            signals::install();
        });
        if self.has_ended() && !is_used_fork() {
            // This may be the program's last call.
            if !self.tracing.buffers.wait(STALL) {
                self.tracing.buffers.stop(Duration::ZERO);
            }
            self.write_out();
            session().finish_at_exit();
        }
    }

    /// Allocates the first stream's trace memory and loads the traced kernels before the program can use up the memory.
    pub fn prepare(&self) {
        if self.prepared.load(Ordering::Relaxed) == u64::MAX {
            return;
        }
        if session().registry().probe() != Probe::Trace
            || !matches!(self.protocol(), Ok(Protocol::Stream))
        {
            self.prepared.store(u64::MAX, Ordering::Relaxed);
            return;
        }
        let device = current_device();
        let bit = 1u64 << (device as u32 % 63);
        if self.prepared.fetch_or(bit, Ordering::AcqRel) & bit != 0 || self.device().is_none() {
            return;
        }
        with_relaxed_capture(|| {
            monitor();
            self.tracing.prepare(device);
            let stubs = self.modules.lock().traced_stubs(MAX_LOADED);
            for stub in stubs {
                device::attributes_of(stub);
            }
        });
        self.hook_exit();
    }

    pub fn kernel(&self, stub: Stub) -> Option<Arc<Kernel>> {
        self.modules.lock().kernel(stub)
    }

    /// Returns whether any module of the program has a probe.
    pub fn is_probed(&self) -> bool {
        session().registry().probe() != Probe::None
    }

    /// Records the protocol for which all modules were built.
    pub fn built_for(&self, name: &str) {
        self.built_for.get_or_init(|| name.to_owned());
    }

    /// Returns the protocol of this run, or an error if the environment requests a protocol other than the one that the
    /// kernels were built for.
    pub fn protocol(&self) -> Result<Protocol, RecordError> {
        let wanted = session().config().protocol;
        let Some(name) = self.built_for.get() else {
            return Ok(wanted.unwrap_or_default());
        };
        let built = name.parse();
        let built = built.map_err(|_| RecordError::UnknownProtocol(name.clone()))?;
        match wanted {
            Some(wanted) if wanted != built => Err(RecordError::OtherProtocol { built, wanted }),
            _ => Ok(built),
        }
    }

    /// Records that a module with this probe was registered.
    pub fn registered(&self, probe: Probe) {
        if probe == Probe::Trace && matches!(self.protocol(), Ok(Protocol::InSitu)) {
            self.in_situ.enable();
        }
    }

    /// Returns the recorder of a kernel, or `None` if Superstep did not build it.
    pub fn recorder(&'static self, kernel: &Kernel) -> Option<&'static dyn Recorder> {
        let recorder: &dyn Recorder = match kernel.probe? {
            Probe::Trace if self.in_situ.is_used() => &self.in_situ,
            Probe::Trace => &self.tracing,
            Probe::Count => &self.counting,
            Probe::Defined => &self.probing,
            Probe::None => &Timing,
        };
        Some(recorder)
    }

    pub fn stream(&self, stream: StreamArgument) -> StreamId {
        let StreamArgument { handle, per_thread } = stream;
        if handle > Stream::PER_THREAD {
            return session().stream_id(handle.address() as u64);
        }
        let device = current_device();
        let other_device =
            (self.device().is_some_and(|first| first.ordinal != device)).then_some(device);
        let per_thread = handle == Stream::PER_THREAD || handle.is_null() && per_thread;
        session().default_stream(other_device, per_thread)
    }

    pub fn stream_destroyed(&self, handle: Stream) {
        let per_thread = false;
        let stream = self.stream(StreamArgument { handle, per_thread });
        session().stream_destroyed(handle.address() as u64);
        self.tracing.buffers.retire(stream);
    }

    /// Waits for all work in streams and stops all consumers. Needs the CUDA context.
    fn quiesce(&self) {
        self.tracing.buffers.stop(STALL);
        self.write_out();
    }

    /// Waits for the monitor once the buffers are empty, and writes the remaining results.
    fn write_out(&self) {
        // The totals of the bus transfers are for `superstep-bench capture`.
        let transport = std::mem::take(&mut *TOTALS.lock());
        if transport.pieces > 0 {
            session().transport(transport);
        }
        let monitor = self.monitor.get();
        if monitor.is_some_and(|monitor| !monitor.wait(STALL)) {
            self.not_finished();
        } else {
            self.write_rest();
        }
    }

    pub fn write_rest(&self) {
        if !self.counting.wait_for_graphs(STALL) {
            return self.not_finished();
        }
        self.in_situ.write_rest();
    }

    fn not_finished(&self) {
        session()
            .fault("the device did not finish its work; the last launches are not in the results");
    }

    pub fn before_reset(&self) {
        let device = current_device();
        self.quiesce();
        let bit = 1u64 << (device as u32 % 63);
        self.prepared.fetch_and(!bit, Ordering::AcqRel);
        self.graphs.clear();
        self.children.forget(device);
        self.in_situ.forget(device);
        self.events.clear();
        self.counting.clear();
        session().free_all(device);
        self.modules.lock().forget_variables(device);
    }
}

extern "C" fn at_exit() {
    let runtime = runtime();
    // A forked child has no threads to wait for.
    if is_used_fork() {
        return;
    }
    if !runtime.ended.swap(true, Ordering::AcqRel) {
        runtime.quiesce();
        session().finish_at_exit();
    }
}

fn add_exit_handler() {
    // SAFETY: the handler is a plain function of this library, which is never unloaded before exit.
    unsafe { libc::atexit(at_exit) };
}

/// Registers an exit handler so that even a program that never calls CUDA gets a summary.
pub fn hook_exit_early() {
    static HOOK: Once = Once::new();
    HOOK.call_once(add_exit_handler);
}
