//! Runs CTAs on a worker: switches between the fibers of a CTA, and merges what they logged.

use crate::abi::{SuperstepThread, WARP_LANES};
use crate::errors::CudaError;
use crate::fault::{failure_of, reset_floating_point};
use crate::fiber::{End, Fiber, FiberYielder, GUARD_BYTES, Pause, StackPool};
use crate::job::{Failure, Job};
use crate::logs::{CtaLogs, Room, WarpLog};
use crate::mapping::Mapping;
use crate::merge::LogEntry;
use crate::registry;
use crate::sink::Sink;
use crate::worker::{Mode, Place, Worker, thread_coordinates};
use corosensei::CoroutineResult;
use corosensei::stack::Stack;
use std::ptr::{null, null_mut};
use superstep_trace::Probe;

/// Sites that a module may have; the counters of module *m* start at *m* times this.
const SITES_PER_MODULE: usize = 1 << 16;

/// A worker's executing half.
pub struct Scheduler {
    worker: &'static Worker,
    stacks: StackPool,
    sink: Sink,
    logs: Option<CtaLogs>,
    spare_warp_log: Option<WarpLog>,
    shared: Option<Mapping>,
    counters: Option<Mapping>,
    fibers: Vec<Option<Fiber>>,
    yielders: Vec<*const FiberYielder>,
    /// Lowest usable stack address of each fiber.
    floors: Vec<u64>,
    last_kernel: String,
    /// Address of the function that gave the current thread block.
    thread_block: usize,
}

type Outcome = Result<(), Failure>;

impl Scheduler {
    /// An idle scheduler; `worker` must be the calling thread's own.
    pub fn new(worker: &'static Worker, stack_bytes: usize) -> Self {
        Scheduler {
            worker,
            stacks: StackPool::new(stack_bytes),
            sink: Sink::new(worker.number),
            logs: None,
            spare_warp_log: None,
            shared: None,
            counters: None,
            fibers: Vec::new(),
            yielders: Vec::new(),
            floors: Vec::new(),
            last_kernel: String::new(),
            thread_block: 0,
        }
    }

    /// Works on a launch until no CTA is left.
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
        match self.worker.mode.get() {
            Mode::Plain => self.run_plain(job),
            Mode::Fibers => {
                while let Some(ctas) = job.take_ctas() {
                    for cta in ctas {
                        if job.is_stopped() {
                            return Ok(());
                        }
                        self.enter_cta(job, cta);
                        self.run_fibers(job, cta)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Everything that is the same for all CTAs of a launch.
    fn prepare(&mut self, job: &Job) -> Outcome {
        let mode = if job.kernel.needs_fibers && job.threads() > 1 {
            Mode::Fibers
        } else {
            Mode::Plain
        };
        self.worker.mode.set(mode);
        if self.thread_block != job.kernel.thread_block as usize {
            self.thread_block = job.kernel.thread_block as usize;
            // SAFETY: the function belongs to the kernel's module and returns the calling thread's own block.
            self.worker
                .block
                .set(unsafe { (job.kernel.thread_block)() });
            self.worker
                .thread_locals
                .set(crate::thread_locals::around(self.worker.block.get() as u64));
        }
        let out_of_memory = |what: &str, error: std::io::Error| Failure {
            error: CudaError::MEMORY_ALLOCATION,
            text: format!(
                "kernel {}: failed to get memory for {what}: {error}",
                job.kernel.display_name
            ),
        };
        let shared_bytes = job.dynamic_shared_bytes as usize;
        if self
            .shared
            .as_ref()
            .is_none_or(|shared| shared.bytes() < shared_bytes)
        {
            self.shared = Some(
                Mapping::new(shared_bytes)
                    .map_err(|error| out_of_memory("shared memory", error))?,
            );
        }
        if job.is_traced() && mode == Mode::Fibers {
            if self.logs.is_none() {
                self.logs =
                    Some(CtaLogs::new().map_err(|error| out_of_memory("access logs", error))?);
            }
            if self.last_kernel != job.kernel.name {
                self.last_kernel.clone_from(&job.kernel.name);
                if let Some(logs) = &mut self.logs {
                    logs.forget();
                }
            }
        }
        let mut warp_log = self.worker.warp_log.borrow_mut();
        if job.is_traced() && mode == Mode::Plain {
            if warp_log.is_none() {
                let spare = self.spare_warp_log.take().map_or_else(WarpLog::new, Ok);
                *warp_log = Some(spare.map_err(|error| out_of_memory("access logs", error))?);
            }
        } else if let Some(log) = warp_log.take() {
            self.spare_warp_log = Some(log);
        }
        let counters_bytes =
            (registry::highest_module() as usize + 1) * SITES_PER_MODULE * size_of::<u64>();
        if job.kernel.probe == Probe::Count
            && self
                .counters
                .as_ref()
                .is_none_or(|mapping| mapping.bytes() < counters_bytes)
        {
            self.counters = Some(
                Mapping::new(counters_bytes).map_err(|error| out_of_memory("counters", error))?,
            );
        }
        let block = SuperstepThread {
            ntid: job.block,
            nctaid: job.grid,
            sm: self.worker.number,
            site_counts: self
                .counters
                .as_ref()
                .map_or(null_mut(), |mapping| mapping.base().cast()),
            dynamic_shared: self.shared.as_ref().map_or(null_mut(), Mapping::base),
            dynamic_shared_bytes: job.dynamic_shared_bytes,
            ..SuperstepThread::EMPTY
        };
        // SAFETY: the block is this worker's own thread-local variable; nobody else accesses it now.
        unsafe { self.worker.block.get().write(block) };
        Ok(())
    }

    fn enter_cta(&self, job: &Job, cta: u64) {
        self.worker.cta_number.set(cta);
        // SAFETY: as in `prepare`.
        unsafe { (*self.worker.block.get()).ctaid = job.cta_coordinates(cta) };
    }

    /// Threads of a CTA one after the other, on one fiber for the whole launch.
    fn run_plain(&mut self, job: &Job) -> Outcome {
        let mut fiber = None;
        let outcome = self.run_plain_ctas(job, &mut fiber);
        if let Some(fiber) = fiber {
            // SAFETY: the fiber runs kernels and `run_lanes`, which hold nothing that needs to be dropped.
            unsafe { self.stacks.reclaim(fiber) };
        }
        outcome
    }

    fn run_plain_ctas(&mut self, job: &Job, fiber: &mut Option<Fiber>) -> Outcome {
        let threads = job.threads();
        while let Some(ctas) = job.take_ctas() {
            for cta in ctas {
                if job.is_stopped() {
                    return Ok(());
                }
                self.enter_cta(job, cta);
                for warp in 0..threads.div_ceil(WARP_LANES) {
                    self.worker.next_thread.set(warp * WARP_LANES);
                    self.worker
                        .end_thread
                        .set(threads.min((warp + 1) * WARP_LANES));
                    let outcome = self.run_plain_warp(job, cta, warp, fiber);
                    self.merge_plain(job, cta, warp);
                    outcome?;
                }
            }
        }
        Ok(())
    }

    fn run_plain_warp(
        &mut self,
        job: &Job,
        cta: u64,
        warp: u32,
        slot: &mut Option<Fiber>,
    ) -> Outcome {
        loop {
            let fiber = match slot {
                Some(fiber) => fiber,
                None => slot.insert(self.new_fiber(job, plain_loop)?),
            };
            let lane = |worker: &Worker| (worker.thread.get() % WARP_LANES) as usize;
            match fiber.resume(()) {
                CoroutineResult::Yield(Pause::WarpDone) => return Ok(()),
                CoroutineResult::Yield(Pause::LogFull) => {
                    self.worker.close_lane(lane(self.worker));
                    self.merge_plain(job, cta, warp);
                    if let Some(log) = self.worker.warp_log.borrow_mut().as_mut() {
                        self.worker.set_log(log.open(lane(self.worker)));
                    }
                }
                CoroutineResult::Yield(Pause::Waiting) => {}
                CoroutineResult::Yield(Pause::Exit) => {
                    self.worker.close_lane(lane(self.worker));
                    self.drop_fiber(slot);
                }
                CoroutineResult::Yield(Pause::Failed) => {
                    self.worker.close_lane(lane(self.worker));
                    self.drop_fiber(slot);
                    return Err(self.take_failure());
                }
                CoroutineResult::Return(_) => {
                    self.worker.close_lane(lane(self.worker));
                    self.drop_fiber(slot);
                    let last = self
                        .worker
                        .warp_log
                        .borrow()
                        .as_ref()
                        .and_then(|log| log.lanes()[lane(self.worker)].last().copied());
                    return Err(self.take_fault(last));
                }
            }
        }
    }

    fn merge_plain(&mut self, job: &Job, cta: u64, warp: u32) {
        if let Some(log) = self.worker.warp_log.borrow_mut().as_mut() {
            self.sink.merge(job, cta, warp, &log.lanes());
            log.clear();
        }
    }

    /// Threads of a CTA as fibers.
    fn run_fibers(&mut self, job: &Job, cta: u64) -> Outcome {
        let threads = job.threads();
        self.worker.cta.borrow_mut().reset(threads);
        self.fibers.resize_with(threads as usize, || None);
        self.yielders.clear();
        self.yielders.resize(threads as usize, null());
        self.floors.resize(threads as usize, 0);
        if let Some(logs) = self.traced_logs(job) {
            logs.reset(threads as usize);
        }
        let outcome = self.run_until_all_exited(job, cta, threads);
        for warp in 0..threads.div_ceil(WARP_LANES) {
            self.merge_fibers(job, cta, warp);
        }
        for index in 0..self.fibers.len() {
            let mut fiber = self.fibers[index].take();
            self.drop_fiber(&mut fiber);
        }
        outcome
    }

    fn run_until_all_exited(&mut self, job: &Job, cta: u64, threads: u32) -> Outcome {
        loop {
            let mut any_ran = false;
            for warp in 0..threads.div_ceil(WARP_LANES) {
                let lanes = warp * WARP_LANES..threads.min((warp + 1) * WARP_LANES);
                // A warp runs until all of its lanes wait for other warps.
                loop {
                    let mut ran = false;
                    for thread in lanes.clone() {
                        if self.worker.cta.borrow().state(thread) == crate::cta::State::Ready {
                            self.run_thread(job, cta, thread)?;
                            ran = true;
                        }
                    }
                    any_ran |= ran;
                    if !ran && !self.worker.cta.borrow_mut().answer_active_mask(warp) {
                        break;
                    }
                }
            }
            let mut state = self.worker.cta.borrow_mut();
            if state.alive() == 0 {
                return Ok(());
            }
            if !any_ran && !state.release_for_exited() {
                let [x, y, z] = job.cta_coordinates(cta);
                let (kernel, waits) = (&job.kernel.display_name, state.describe_deadlock());
                let text = format!(
                    "kernel {kernel}, CTA ({x},{y},{z}): its threads wait for each other for ever: {waits}"
                );
                return Err(Failure {
                    error: CudaError::LAUNCH_FAILURE,
                    text,
                });
            }
        }
    }

    /// Runs one thread until it waits or ends.
    fn run_thread(&mut self, job: &Job, cta: u64, thread: u32) -> Outcome {
        let index = thread as usize;
        if self.fibers[index].is_none() {
            self.fibers[index] = Some(self.new_fiber(job, one_thread)?);
            self.floors[index] = self.worker.stack_floor.get();
        }
        self.worker
            .enter_thread(thread, thread_coordinates(thread, job.block));
        loop {
            let Some(fiber) = &mut self.fibers[index] else {
                return Ok(());
            };
            if job.is_traced()
                && let Some(logs) = &self.logs
            {
                self.worker.set_log(logs.open(index));
            }
            self.worker.yielder.set(self.yielders[index]);
            self.worker.trap.set(Some(fiber.trap_handler()));
            self.worker.stack_floor.set(self.floors[index]);
            let result = fiber.resume(());
            self.yielders[index] = self.worker.yielder.get();
            let cursor = self.worker.log_cursor();
            if let Some(logs) = self.traced_logs(job) {
                logs.close(index, cursor);
            }
            match result {
                CoroutineResult::Yield(Pause::LogFull) => {
                    if self
                        .traced_logs(job)
                        .is_some_and(|logs| logs.grow(index) == Room::MergeWarp)
                    {
                        self.merge_fibers(job, cta, thread / WARP_LANES);
                    }
                    continue;
                }
                CoroutineResult::Yield(Pause::Failed) => return Err(self.take_failure()),
                CoroutineResult::Yield(Pause::Exit) | CoroutineResult::Return(End::Returned) => {
                    let mut fiber = self.fibers[index].take();
                    self.drop_fiber(&mut fiber);
                    self.worker.cta.borrow_mut().exit(thread);
                }
                CoroutineResult::Yield(Pause::Waiting | Pause::WarpDone) => {}
                CoroutineResult::Return(End::Fault) => {
                    let last = self.traced_logs(job).and_then(|logs| {
                        logs.lanes(index / WARP_LANES as usize)[index % WARP_LANES as usize]
                            .last()
                            .copied()
                    });
                    return Err(self.take_fault(last));
                }
            }
            break;
        }
        // All that was logged so far lies before the barrier: merging here keeps the lanes of a warp together.
        if self.worker.cta.borrow_mut().take_merge_due() {
            for warp in 0..job.threads().div_ceil(WARP_LANES) {
                self.merge_fibers(job, cta, warp);
            }
        }
        Ok(())
    }

    fn traced_logs(&mut self, job: &Job) -> Option<&mut CtaLogs> {
        if job.is_traced() {
            self.logs.as_mut()
        } else {
            None
        }
    }

    fn merge_fibers(&mut self, job: &Job, cta: u64, warp: u32) {
        if let Some(logs) = self.logs.as_mut().filter(|_| job.is_traced())
            && logs.has_entries(warp as usize)
        {
            self.sink.merge(job, cta, warp, &logs.lanes(warp as usize));
            logs.clear(warp as usize);
        }
    }

    fn new_fiber(
        &mut self,
        job: &Job,
        body: fn(&'static Worker, &FiberYielder),
    ) -> Result<Fiber, Failure> {
        let stack = self.stacks.take().map_err(|error| Failure {
            error: CudaError::MEMORY_ALLOCATION,
            text: format!(
                "kernel {}: failed to get a stack for one of its threads: {error}; raise vm.max_map_count or lower SUPERSTEP_CPU_THREADS",
                job.kernel.display_name
            ),
        })?;
        self.worker
            .stack_floor
            .set((stack.limit().get() + GUARD_BYTES) as u64);
        let worker = self.worker;
        let fiber = Fiber::with_stack(stack, move |yielder, ()| {
            worker.yielder.set(yielder);
            body(worker, yielder);
            End::Returned
        });
        self.worker.trap.set(Some(fiber.trap_handler()));
        Ok(fiber)
    }

    fn drop_fiber(&mut self, slot: &mut Option<Fiber>) {
        if let Some(fiber) = slot.take() {
            // SAFETY: fibers run kernels and device calls, which hold nothing that needs to be dropped while they are suspended.
            unsafe { self.stacks.reclaim(fiber) };
        }
    }

    fn take_failure(&self) -> Failure {
        let unknown = || {
            self.worker
                .describe(CudaError::LAUNCH_FAILURE, "stopped for an unknown reason")
        };
        self.worker
            .failure
            .borrow_mut()
            .take()
            .unwrap_or_else(unknown)
    }

    fn take_fault(&self, last_access: Option<LogEntry>) -> Failure {
        reset_floating_point();
        self.worker.place.set(Place::Runtime);
        match self.worker.signal.take() {
            Some(record) => failure_of(self.worker, record, last_access),
            None => self.take_failure(),
        }
    }

    /// Hands over what was recorded or counted.
    fn finish(&mut self, job: &Job) {
        if job.is_traced() {
            self.sink.finish(job);
        }
        if let (Probe::Count, Some(counters)) = (job.kernel.probe, &self.counters) {
            let entries = counters.bytes() / size_of::<u64>();
            job.add_counts(job.kernel.sites.iter().map(|site| match site.0 as usize {
                index if index < entries => {
                    // SAFETY: the index lies inside the mapping, and no kernel runs on this worker now.
                    unsafe { counters.base().cast::<u64>().add(index).replace(0) }
                }
                _ => 0,
            }));
        }
    }
}

fn plain_loop(worker: &'static Worker, yielder: &FiberYielder) {
    loop {
        worker.run_lanes();
        yielder.suspend(Pause::WarpDone);
    }
}

fn one_thread(worker: &'static Worker, _yielder: &FiberYielder) {
    let Some((thunk, arguments)) = worker.job().map(|job| (job.kernel.thunk, job.arguments)) else {
        return;
    };
    worker.place.set(Place::Kernel);
    // SAFETY: the thread block is filled in, and the arguments are those that the program passed for this kernel.
    unsafe { thunk(arguments.0) };
    worker.place.set(Place::Runtime);
}
