//! A launch that the workers run.

use crate::device::properties::MULTIPROCESSORS;
use crate::device_calls::children::Child;
use crate::errors::CudaError;
use crate::exec::grid::Grid;
use crate::memory::ranges::Ranges;
use crate::record::probed::Probed;
use crate::registry::Kernel;
use crate::runtime::session;
use parking_lot::Mutex;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use superstep_runtime_core::ActiveLaunch;
use superstep_runtime_core::in_situ::Running;
use superstep_trace::{Probe, Recorded};

/// Number of CTAs that a large GPU runs at the same time: 16 per multiprocessor.
const RESIDENT_CTAS: u64 = 16 * MULTIPROCESSORS as u64;

static NEXT_GRID: AtomicU64 = AtomicU64::new(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Error that later CUDA calls return.
    pub error: CudaError,
    pub text: String,
}

/// Pointers to the arguments of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Arguments(pub *mut *mut c_void);

// SAFETY: the program's call waits for the launch, so the values stay where they are, and kernels only read them.
unsafe impl Send for Arguments {}
// SAFETY: a shared reference only copies the address.
unsafe impl Sync for Arguments {}

pub struct Job {
    pub kernel: Arc<Kernel>,
    pub arguments: Arguments,
    pub active: ActiveLaunch,
    /// Global memory at the start of the launch.
    pub ranges: Arc<Ranges>,
    /// Sequence number of the launch in the program (`%gridid`).
    pub grid_id: u64,
    /// Aggregates of the accesses; `None` if they are recorded instead.
    pub running: Option<Running>,
    pub probed: Option<Box<Probed>>,
    /// Whether the module's probe has handlers that run once per warp. If so, all kernels of the module log, even
    /// those without probe points.
    pub probe_logs: bool,
    pub grid_barrier: Option<Grid>,
    pub ctas: u64,
    next_cta: AtomicU64,
    batch: u64,
    stopped: AtomicBool,
    pub failure: Mutex<Option<Failure>>,
    pub accesses: AtomicU64,
    /// Counts by site, in the order of the kernel's sites.
    pub counts: Mutex<Vec<u64>>,
    /// Launches, copies and fills that the CTAs requested, in order within each CTA.
    pub children: Mutex<Vec<Child>>,
}

impl Job {
    pub fn new(
        kernel: Arc<Kernel>,
        arguments: Arguments,
        active: ActiveLaunch,
        ranges: Arc<Ranges>,
        workers: usize,
    ) -> Self {
        let ctas: u64 = active.launch.grid.iter().map(|&n| u64::from(n)).product();
        // Small enough that all workers finish at about the same time, large enough that the counter is not a
        // bottleneck. 1 if all CTAs might run on a GPU at the same time and wait for each other.
        let batch = if ctas <= RESIDENT_CTAS && !kernel.forgets_threads {
            1
        } else {
            (ctas / (workers as u64 * 16).max(1)).clamp(1, 64)
        };
        let is_counting = kernel.probe == Probe::Count;
        let counters = if is_counting { kernel.sites.len() } else { 0 };
        Job {
            kernel,
            arguments,
            active,
            ranges,
            grid_id: NEXT_GRID.fetch_add(1, Ordering::Relaxed),
            running: None,
            probed: None,
            probe_logs: false,
            grid_barrier: None,
            ctas,
            next_cta: AtomicU64::new(0),
            batch,
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
            accesses: AtomicU64::new(0),
            counts: Mutex::new(vec![0; counters]),
            children: Mutex::default(),
        }
    }

    pub fn threads(&self) -> u32 {
        self.active.launch.block.iter().product()
    }

    /// Returns whether the kernel logs its accesses or warp-level probe points.
    pub fn is_traced(&self) -> bool {
        self.kernel.probe == Probe::Trace || self.probe_logs
    }

    /// Returns whether the accesses or counts of a CTA are recorded.
    pub fn keeps(&self, cta: u64) -> bool {
        match self.active.recorded {
            Recorded::All => true,
            Recorded::SelectedCtas => session().config().selection.takes_cta(self.ctas, cta),
            Recorded::OutOfScope | Recorded::NotSampled => false,
        }
    }

    pub fn cooperate(&mut self) {
        let grid = Grid::default();
        self.ranges = Arc::new(self.ranges.with(grid.range()));
        self.grid_barrier = Some(grid);
        self.batch = 1;
    }

    /// Pauses a CTA whose threads all wait for other CTAs.
    pub fn wait_for_others(&self) {
        match &self.grid_barrier {
            Some(grid) => grid.wait(),
            None => std::thread::yield_now(),
        }
    }

    /// Returns the next CTAs to run; `None` after the last one or a failure.
    pub fn take_ctas(&self) -> Option<std::ops::Range<u64>> {
        if self.is_stopped() {
            return None;
        }
        let first = self.next_cta.fetch_add(self.batch, Ordering::Relaxed);
        (first < self.ctas).then(|| first..self.ctas.min(first + self.batch))
    }

    /// Returns the number of CTAs that have been taken; `None` if no CTA is left.
    pub fn ctas_taken(&self) -> Option<u64> {
        let next = self.next_cta.load(Ordering::Relaxed);
        (next < self.ctas && !self.is_stopped()).then_some(next)
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub fn cta_coordinates(&self, cta: u64) -> [u32; 3] {
        self.active.launch.cta_coordinates(cta as u32)
    }

    /// Stops the launch; if several workers fail, keeps the first failure.
    pub fn fail(&self, failure: Failure) {
        self.failure.lock().get_or_insert(failure);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Adds a worker's counts, in the order of the kernel's sites.
    pub fn add_counts(&self, counts: impl Iterator<Item = u64>) {
        for (sum, count) in self.counts.lock().iter_mut().zip(counts) {
            *sum += count;
        }
    }
}
