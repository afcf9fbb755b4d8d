//! A worker's state for device code: the running thread of a CTA, and the switch to the scheduler.
//!
//! Device calls run on a fiber's stack while the scheduler waits on the worker's own, so the two share everything
//! here through cells; no borrow is held across a switch.

use crate::errors::CudaError;
use crate::exec::cta::Cta;
use crate::exec::fault::SignalRecord;
use crate::exec::fiber::{End, FiberYielder, Pause};
use crate::exec::job::{Failure, Job};
use crate::record::logs::WarpLog;
use crate::record::merge::LogEntry;
use corosensei::trap::CoroutineTrapHandler;
use std::cell::{Cell, RefCell};
use std::ptr::null;
use superstep_abi::cpu::{Step, SuperstepThread, WARP_LANES};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In a kernel, where a signal means that the kernel failed.
    Kernel,
    /// In the runtime, where a signal indicates a bug.
    #[default]
    Runtime,
}

#[derive(Default)]
pub struct Worker {
    /// Index of the worker, starting at 0; its CTAs see this as the ID of their multiprocessor.
    pub number: u32,
    job: Cell<*const Job>,
    /// The thread state of the launch's module on this worker.
    pub block: Cell<*mut SuperstepThread>,
    /// Runs threads in a loop from one barrier to the next; `None` if they are fibers.
    pub step: Cell<Option<Step>>,
    pub place: Cell<Place>,
    pub cta_number: Cell<u64>,
    pub cta: RefCell<Cta>,
    /// Switches to the scheduler; valid while a fiber runs.
    pub yielder: Cell<*const FiberYielder>,
    pub trap: Cell<Option<CoroutineTrapHandler<End>>>,
    /// Lowest address of the running fiber's stack, above the guard.
    pub stack_floor: Cell<u64>,
    pub signal: Cell<Option<SignalRecord>>,
    pub failure: RefCell<Option<Failure>>,
    /// Log of a warp whose threads run in a loop; allocated for the first traced kernel of that kind.
    pub warp_log: RefCell<Option<WarpLog>>,
    /// Variables of threads that run in a loop: the first byte, and one past the last.
    pub frame: Cell<(*mut u8, *mut u8)>,
    /// Whether the thread state fails to identify the running thread.
    pub forgets_thread: Cell<bool>,
    /// CTAs to run in a loop: the first, and one past the last.
    pub ctas: Cell<(u64, u64)>,
    /// The warp whose threads run in a loop.
    pub warp: Cell<u32>,
    /// Log of an unrecorded CTA, which is overwritten: the first word, and one past the last.
    pub discard: Cell<Option<(*mut u64, *mut u64)>>,
    /// `threadIdx` of each thread in a CTA of the current shape.
    tids: RefCell<([u32; 3], Vec<[u32; 3]>)>,
    pub last_range: Cell<(u64, u64)>,
    /// This worker's thread-local variables, which hold static shared memory.
    pub thread_locals: Cell<(u64, u64)>,
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

pub fn current<'a>() -> Option<&'a Worker> {
    // SAFETY: `become_current` stored a pointer to a worker that lives as long as its thread.
    unsafe { CURRENT.get().as_ref() }
}

impl Worker {
    pub fn new(number: u32) -> Self {
        Worker {
            number,
            ..Worker::default()
        }
    }

    pub fn become_current(&'static self) {
        CURRENT.set(self);
    }

    /// Sets the launch, which must outlive the worker's work on it.
    pub fn set_job(&self, job: Option<&Job>) {
        self.job.set(job.map_or(null(), |job| job));
        self.last_range.set((0, 0));
    }

    /// Returns the launch; `None` when idle.
    pub fn job(&self) -> Option<&Job> {
        // SAFETY: `set_job` stores a launch that outlives the work on it, and clears it afterwards.
        unsafe { self.job.get().as_ref() }
    }

    pub fn set_shape(&self, block: [u32; 3]) {
        let (shape, tids) = &mut *self.tids.borrow_mut();
        if *shape != block {
            *shape = block;
            tids.clear();
            let threads = 0..block.iter().product();
            tids.extend(threads.map(|thread| thread_coordinates(thread, block)));
        }
    }

    pub fn enter_thread(&self, thread: u32) {
        let tid = self.tids.borrow().1.get(thread as usize).copied();
        let block = self.block.get();
        // SAFETY: the block is this worker's own thread-local variable; nothing else accesses it now.
        unsafe {
            (*block).tid = tid.unwrap_or_default();
            (*block).lane = thread % WARP_LANES;
            (*block).warp = thread / WARP_LANES;
            (*block).thread = thread;
        }
    }

    pub fn thread(&self) -> u32 {
        // SAFETY: the block is this worker's own thread-local; null before the first launch.
        unsafe { self.block.get().as_ref() }.map_or(0, |block| block.thread)
    }

    pub fn set_log(&self, (cursor, end): (*mut u64, *mut u64)) {
        let block = self.block.get();
        // SAFETY: the block is this worker's own thread-local, and set before a thread logs.
        unsafe {
            (*block).log_cursor = cursor;
            (*block).log_end = end;
        }
    }

    pub fn log_cursor(&self) -> *mut u64 {
        // SAFETY: the block is this worker's own thread-local, and set before a thread logs.
        unsafe { (*self.block.get()).log_cursor }
    }

    pub fn suspend(&self, pause: Pause) {
        // SAFETY: device calls run on a fiber, whose yielder the scheduler stored before resuming the fiber.
        if let Some(yielder) = unsafe { self.yielder.get().as_ref() } {
            yielder.suspend(pause);
        }
    }

    /// Empties the log of the current warp; later entries belong to `lane`.
    pub fn open_warp_log(&self, lane: Option<usize>) {
        if let Some(log) = self.warp_log.borrow_mut().as_mut() {
            self.set_log(log.open(lane));
        }
    }

    /// Returns the current thread's last access in the log of its warp.
    pub fn last_access(&self) -> Option<LogEntry> {
        let log = self.warp_log.borrow();
        let lane = (self.thread() % WARP_LANES) as usize;
        log.as_ref()?.lanes(self.log_cursor())[lane].last().copied()
    }

    /// Returns `blockIdx` and `threadIdx`.
    pub fn coordinates(&self, job: &Job) -> [[u32; 3]; 2] {
        let thread = thread_coordinates(self.thread(), job.active.launch.block);
        [job.cta_coordinates(self.cta_number.get()), thread]
    }

    /// Returns a failure whose text begins with the kernel, CTA and thread.
    pub fn describe(&self, error: CudaError, what: impl std::fmt::Display) -> Failure {
        let Some(job) = self.job() else {
            let text = what.to_string();
            return Failure { error, text };
        };
        let [[x, y, z], [tx, ty, tz]] = self.coordinates(job);
        let kernel = &job.kernel.display_name;
        let thread = match self.forgets_thread.get() {
            true => "one of its threads".to_owned(),
            false => format!("thread ({tx},{ty},{tz})"),
        };
        let text = format!("kernel {kernel}, CTA ({x},{y},{z}), {thread}: {what}");
        Failure { error, text }
    }
}

/// Returns `threadIdx` of thread `thread` in a CTA of shape `block`.
fn thread_coordinates(thread: u32, block: [u32; 3]) -> [u32; 3] {
    [
        thread % block[0],
        thread / block[0] % block[1],
        thread / block[0] / block[1],
    ]
}

#[cfg(test)]
mod tests;
