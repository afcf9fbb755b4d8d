//! Kernels whose threads wait for each other: each thread is a fiber, and the CTA's state determines which fibers run.

use super::{Outcome, Scheduler};
use crate::errors::CudaError;
use crate::exec::cta::State;
use crate::exec::fiber::{End, FiberYielder, Pause};
use crate::exec::job::{Failure, Job};
use crate::exec::worker::{Place, Worker};
use crate::record::logs::CtaLogs;
use corosensei::CoroutineResult;
use std::ptr::null;
use superstep_abi::cpu::WARP_LANES;

impl Scheduler {
    pub(super) fn run_fibers(&mut self, job: &Job, cta: u64) -> Outcome {
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
            let (mut any_ran, mut any_progressed) = (false, false);
            for warp in 0..threads.div_ceil(WARP_LANES) {
                let lanes = warp * WARP_LANES..threads.min((warp + 1) * WARP_LANES);
                // A warp runs until its lanes wait for other warps or have exchanged values. On a GPU, warps run
                // concurrently: in programs that lack a barrier, a warp that ran to the CTA's next barrier would
                // overwrite values that slower warps have yet to load.
                loop {
                    let mut ran = false;
                    for thread in lanes.clone() {
                        if self.worker.cta.borrow().state(thread) == State::Ready {
                            ran |= self.run_thread(job, cta, thread)?;
                            any_ran = true;
                            any_progressed |= ran;
                        }
                    }
                    let mut state = self.worker.cta.borrow_mut();
                    let exchanged = std::mem::take(&mut state.exchanged);
                    if exchanged || !ran && !state.release_active_mask(warp) {
                        break;
                    }
                }
            }
            let mut state = self.worker.cta.borrow_mut();
            if state.alive == 0 {
                return Ok(());
            }
            if any_ran && !any_progressed {
                drop(state);
                if job.is_stopped() {
                    return Ok(());
                }
                job.wait_for_others();
                continue;
            }
            if !any_ran && !state.release_for_exited() {
                let [x, y, z] = job.cta_coordinates(cta);
                let (kernel, waits) = (&job.kernel.display_name, state.describe_deadlock());
                let text = format!(
                    "kernel {kernel}, CTA ({x},{y},{z}): its threads wait for each other forever: {waits}"
                );
                return Err(Failure {
                    error: CudaError::LAUNCH_FAILURE,
                    text,
                });
            }
        }
    }

    /// Runs a thread until it exits or waits. Returns `false` if it polls, so that other warps must run first.
    fn run_thread(&mut self, job: &Job, cta: u64, thread: u32) -> Result<bool, Failure> {
        let mut has_progressed = true;
        let index = thread as usize;
        if self.fibers[index].is_none() {
            self.fibers[index] = Some(self.new_fiber(job, run_one_thread)?);
            self.floors[index] = self.worker.stack_floor.get();
        }
        self.worker.enter_thread(thread);
        loop {
            let Some(fiber) = &mut self.fibers[index] else {
                return Ok(has_progressed);
            };
            if let Some(log) = self.worker.discard.get() {
                self.worker.set_log(log);
            } else if job.is_traced()
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
                    if self.traced_logs(job).is_some_and(|logs| !logs.grow(index)) {
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
                CoroutineResult::Yield(Pause::Yielded) => has_progressed = false,
                CoroutineResult::Yield(Pause::Waiting | Pause::WarpDone) => {}
                CoroutineResult::Return(End::Fault) => {
                    let lanes = WARP_LANES as usize;
                    let logs = self.traced_logs(job);
                    let last = logs
                        .and_then(|logs| logs.lanes(index / lanes)[index % lanes].last().copied());
                    return Err(self.take_fault(last));
                }
            }
            break;
        }
        // All log entries precede the barrier, so merging now keeps the lanes of a warp together.
        if std::mem::take(&mut self.worker.cta.borrow_mut().merge_due) {
            for warp in 0..job.threads().div_ceil(WARP_LANES) {
                self.merge_fibers(job, cta, warp);
            }
        }
        Ok(has_progressed)
    }

    fn traced_logs(&mut self, job: &Job) -> Option<&mut CtaLogs> {
        let is_logging = self.is_logging(job);
        self.logs.as_mut().filter(|_| is_logging)
    }

    fn merge_fibers(&mut self, job: &Job, cta: u64, warp: u32) {
        let is_logging = self.is_logging(job);
        if let Some(logs) = self.logs.as_mut().filter(|_| is_logging)
            && logs.has_entries(warp as usize)
        {
            self.sink.merge(job, cta, warp, &logs.lanes(warp as usize));
            logs.clear(warp as usize);
        }
    }
}

fn run_one_thread(worker: &'static Worker, _yielder: &FiberYielder) {
    let Some((thunk, arguments)) = worker.job().map(|job| (job.kernel.thunk, job.arguments)) else {
        return;
    };
    worker.place.set(Place::Kernel);
    // SAFETY: the thread state is filled in, and the arguments are those that the program passed for this kernel.
    unsafe { thunk(arguments.0) };
    worker.place.set(Place::Runtime);
}
