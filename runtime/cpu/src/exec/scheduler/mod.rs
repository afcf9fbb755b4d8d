//! Runs CTAs on a worker: switches between the fibers of a CTA, and merges their logs.

mod fibers;
mod loops;

use crate::errors::CudaError;
use crate::exec::fault::{failure_of, reset_floating_point};
use crate::exec::fiber::{End, Fiber, FiberYielder, GUARD_BYTES, StackPool};
use crate::exec::job::{Failure, Job};
use crate::exec::worker::{Place, Worker};
use crate::exec::{pool, thread_locals};
use crate::mapping::Mapping;
use crate::record::logs::{CtaLogs, WarpLog};
use crate::record::merge::LogEntry;
use crate::record::sink::Sink;
use crate::registry;
use corosensei::stack::Stack;
use std::ptr::null_mut;
use superstep_abi::cpu::{FRAME_THREADS_UNIT, SuperstepThread, WARP_LANES};
use superstep_abi::variable::CPU_THREADS;
use superstep_trace::{Probe, Recorded};

/// Maximum number of sites in a module; the counters of module *m* start at index `m * SITES_PER_MODULE`.
const SITES_PER_MODULE: usize = 1 << 16;
/// Ratio of a function's frame size on the CPU to that on a GPU, which keeps more in registers.
const CPU_FRAME_RATIO: usize = 4;
/// Size of the logs of unrecorded CTAs, which fit in the L1 cache.
const DISCARD_BYTES: usize = 4096;

pub struct Scheduler {
    worker: &'static Worker,
    stacks: StackPool,
    sink: Sink,
    logs: Option<CtaLogs>,
    shared: Option<Mapping>,
    /// Counters for recorded CTAs, followed by as many for unrecorded ones.
    counters: Option<Mapping>,
    discard: Option<Mapping>,
    frame: Option<Mapping>,
    fibers: Vec<Option<Fiber>>,
    yielders: Vec<*const FiberYielder>,
    /// Lowest usable stack address of each fiber.
    floors: Vec<u64>,
    last_kernel: String,
    /// Address of the function that returned the current thread state.
    thread_block: usize,
}

type Outcome = Result<(), Failure>;

impl Scheduler {
    pub fn new(worker: &'static Worker, stack_bytes: usize) -> Self {
        Scheduler {
            worker,
            stacks: StackPool::new(stack_bytes),
            sink: Sink::new(worker.number),
            logs: None,
            shared: None,
            counters: None,
            discard: None,
            frame: None,
            fibers: Vec::new(),
            yielders: Vec::new(),
            floors: Vec::new(),
            last_kernel: String::new(),
            thread_block: 0,
        }
    }

    pub fn run(&mut self, job: &Job) {
        self.worker.set_job(Some(job));
        self.sink.begin(job);
        if let Err(failure) = self.prepare(job).and_then(|()| self.run_ctas(job)) {
            job.fail(failure);
        }
        self.finish(job);
        self.worker.set_job(None);
    }

    fn run_ctas(&mut self, job: &Job) -> Outcome {
        match self.worker.step.get() {
            Some(_) => self.run_loops(job),
            None => self.for_each_cta(job, |this, cta| this.run_fibers(job, cta)),
        }
    }

    fn for_each_cta(
        &mut self,
        job: &Job,
        mut run: impl FnMut(&mut Self, u64) -> Outcome,
    ) -> Outcome {
        while let Some(ctas) = job.take_ctas() {
            for cta in ctas {
                if job.is_stopped() {
                    return Ok(());
                }
                self.enter_cta(job, cta);
                run(self, cta)?;
            }
        }
        Ok(())
    }

    /// Prepares the state that all CTAs of a launch share.
    fn prepare(&mut self, job: &Job) -> Outcome {
        let step = job.kernel.step;
        self.worker.step.set(step);
        let forgets = step.is_some() && job.kernel.forgets_threads;
        self.worker.forgets_thread.set(forgets);
        self.worker.set_shape(job.active.launch.block);
        if self.thread_block != job.kernel.thread_block as usize {
            self.thread_block = job.kernel.thread_block as usize;
            // SAFETY: the function belongs to the kernel's module and returns the calling thread's own block.
            let block = unsafe { (job.kernel.thread_block)() };
            self.worker.block.set(block);
            self.worker
                .thread_locals
                .set(thread_locals::around(block as u64));
        }
        let limit = crate::device::stack_limit_bytes();
        let min_bytes = limit.saturating_mul(CPU_FRAME_RATIO);
        self.stacks.set_min_bytes(min_bytes);
        if let (None, Some(_)) = (step, &job.grid_barrier) {
            self.stacks.slab = pool::slab_for(job);
        }
        let shared_bytes = job.active.launch.dynamic_shared_bytes as usize;
        let shared = ensure_capacity(job, &mut self.shared, shared_bytes, "shared memory")?;
        let no_logs = |error| out_of_memory(job, format_args!("memory for access logs: {error}"));
        if job.is_traced() && step.is_none() {
            let mut logs = match self.logs.take() {
                Some(logs) => logs,
                None => CtaLogs::new().map_err(no_logs)?,
            };
            if self.last_kernel != job.kernel.name {
                self.last_kernel.clone_from(&job.kernel.name);
                logs.forget();
            }
            self.logs = Some(logs);
        }
        let mut warp_log = self.worker.warp_log.borrow_mut();
        if job.is_traced() && step.is_some() && warp_log.is_none() {
            *warp_log = Some(WarpLog::new().map_err(no_logs)?);
        }
        let log_starts = warp_log.as_ref().map_or(null_mut(), WarpLog::starts);
        if step.is_some() {
            let threads = u64::from(job.threads().next_multiple_of(FRAME_THREADS_UNIT));
            let bytes = (job.kernel.frame_bytes * threads) as usize;
            let frame = ensure_capacity(job, &mut self.frame, bytes, "the threads' variables")?;
            self.worker.frame.set((frame.base(), frame.end()));
        }
        if job.kernel.probe == Probe::Count {
            let modules = registry::highest_module() as usize + 1;
            let bytes = 2 * modules * SITES_PER_MODULE * size_of::<u64>();
            ensure_capacity(job, &mut self.counters, bytes, "counters")?;
        }
        if job.active.recorded != Recorded::All && job.is_traced() {
            ensure_capacity(job, &mut self.discard, DISCARD_BYTES, "access logs")?;
        }
        let block = SuperstepThread {
            ntid: job.active.launch.block,
            nctaid: job.active.launch.grid,
            sm: self.worker.number % crate::device_calls::__superstep_worker_count(),
            site_counts: match (&job.probed, &self.counters) {
                (Some(probed), _) => probed.context().cast_mut().cast(),
                (None, Some(counters)) => counters.base().cast(),
                (None, None) => null_mut(),
            },
            dynamic_shared: shared.base(),
            dynamic_shared_bytes: job.active.launch.dynamic_shared_bytes,
            log_starts,
            ..SuperstepThread::EMPTY
        };
        // SAFETY: the block is this worker's own thread-local variable; no other thread accesses it now.
        unsafe { self.worker.block.get().write(block) };
        Ok(())
    }

    fn enter_cta(&self, job: &Job, cta: u64) {
        self.worker.cta_number.set(cta);
        let keeps = job.keeps(cta);
        let discard = self.discard.as_ref().filter(|_| !keeps && job.is_traced());
        let words = |memory: &Mapping| (memory.base().cast(), memory.end().cast());
        self.worker.discard.set(discard.map(words));
        if let (Probe::Count, Some(counters)) = (job.kernel.probe, &self.counters) {
            let half = counters.bytes() / 2;
            // SAFETY: both halves are in the mapping; the block is this worker's own thread-local variable.
            unsafe {
                let counts = counters.base().add(if keeps { 0 } else { half });
                (*self.worker.block.get()).site_counts = counts.cast();
            }
        }
        // SAFETY: the block is this worker's own thread-local variable, and there are no references to it.
        unsafe { (*self.worker.block.get()).ctaid = job.cta_coordinates(cta) };
    }

    fn new_fiber(
        &mut self,
        job: &Job,
        body: fn(&'static Worker, &FiberYielder),
    ) -> Result<Fiber, Failure> {
        let stack = self.stacks.take().map_err(|error| {
            out_of_memory(job, format_args!(
                "a stack for one of its threads: {error}; raise vm.max_map_count or lower {CPU_THREADS}"
            ))
        })?;
        let worker = self.worker;
        let floor = stack.limit().get() + GUARD_BYTES;
        worker.stack_floor.set(floor as u64);
        let fiber = Fiber::with_stack(stack, move |yielder, ()| {
            worker.yielder.set(yielder);
            body(worker, yielder);
            End::Returned
        });
        worker.trap.set(Some(fiber.trap_handler()));
        Ok(fiber)
    }

    fn drop_fiber(&mut self, slot: &mut Option<Fiber>) {
        if let Some(fiber) = slot.take() {
            // SAFETY: suspended fibers are in kernels and device calls, which own nothing that needs to be dropped.
            unsafe { self.stacks.reclaim(fiber) };
        }
    }

    /// Returns whether the current CTA's logs are recorded.
    fn is_logging(&self, job: &Job) -> bool {
        job.is_traced() && self.worker.discard.get().is_none()
    }

    /// Merges the log of the current warp, whose threads run in turn.
    fn merge_warp(&mut self, job: &Job) {
        if self.is_logging(job)
            && let Some(log) = self.worker.warp_log.borrow_mut().as_mut()
        {
            let lanes = log.lanes(self.worker.log_cursor());
            let (cta, warp) = (self.worker.cta_number.get(), self.worker.warp.get());
            self.sink.merge(job, cta, warp, &lanes);
            self.worker.set_log(log.open(None));
        }
    }

    /// Merges the log in the middle of a warp; the current thread then continues.
    fn merge_full_warp(&mut self, job: &Job) {
        self.merge_warp(job);
        let lane = (self.worker.thread() % WARP_LANES) as usize;
        self.worker.open_warp_log(Some(lane));
    }

    fn take_failure(&self) -> Failure {
        let failure = self.worker.failure.take();
        failure.unwrap_or_else(|| {
            let text = "stopped for an unknown reason";
            self.worker.describe(CudaError::LAUNCH_FAILURE, text)
        })
    }

    fn take_fault(&self, last_access: Option<LogEntry>) -> Failure {
        reset_floating_point();
        self.worker.place.set(Place::Runtime);
        // A user-defined probe logs probe points, not accesses.
        let is_access = |job: &Job| !job.probe_logs;
        let last_access = last_access.filter(|_| self.worker.job().is_some_and(is_access));
        match self.worker.signal.take() {
            Some(record) => failure_of(self.worker, record, last_access),
            None => self.take_failure(),
        }
    }

    fn finish(&mut self, job: &Job) {
        if job.is_traced() {
            self.sink.finish(job);
        }
        if let (Probe::Count, Some(counters)) = (job.kernel.probe, &self.counters) {
            let entries = counters.bytes() / 2 / size_of::<u64>();
            job.add_counts(job.kernel.sites.iter().map(|site| match site.0 as usize {
                index if index < entries => {
                    // SAFETY: the index is inside the mapping, and no kernel runs on this worker now.
                    unsafe { counters.base().cast::<u64>().add(index).replace(0) }
                }
                _ => 0,
            }));
        }
    }
}

/// Returns the memory in `slot` after replacing it if it is too small.
fn ensure_capacity<'a>(
    job: &Job,
    slot: &'a mut Option<Mapping>,
    bytes: usize,
    what: &str,
) -> Result<&'a Mapping, Failure> {
    let memory = match slot.take().filter(|memory| memory.bytes() >= bytes) {
        Some(memory) => memory,
        None => Mapping::new(bytes)
            .map_err(|error| out_of_memory(job, format_args!("memory for {what}: {error}")))?,
    };
    Ok(slot.insert(memory))
}

fn out_of_memory(job: &Job, what: std::fmt::Arguments<'_>) -> Failure {
    let kernel = &job.kernel.display_name;
    Failure {
        error: CudaError::MEMORY_ALLOCATION,
        text: format!("kernel {kernel}: failed to allocate {what}"),
    }
}
