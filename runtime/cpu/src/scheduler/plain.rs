//! Kernels whose threads never wait for each other: the threads of a CTA run one after the other, all on one fiber, so that a fault in one
//! of them can be caught.

use super::{Outcome, Scheduler};
use crate::abi::WARP_LANES;
use crate::fiber::{Fiber, FiberYielder, Pause};
use crate::job::Job;
use crate::worker::Worker;
use corosensei::CoroutineResult;

impl Scheduler {
    /// Threads of a CTA one after the other, on one fiber for the whole launch.
    pub(super) fn run_plain(&mut self, job: &Job) -> Outcome {
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
            let lane = |worker: &Worker| (worker.thread() % WARP_LANES) as usize;
            match fiber.resume(()) {
                CoroutineResult::Yield(Pause::WarpDone) => return Ok(()),
                CoroutineResult::Yield(Pause::LogFull) => {
                    self.worker.close_lane(lane(self.worker));
                    self.merge_plain(job, cta, warp);
                    if let Some(log) = self.worker.warp_log.borrow_mut().as_mut() {
                        self.worker.set_log(log.open(lane(self.worker)));
                    }
                }
                CoroutineResult::Yield(Pause::Waiting | Pause::Yielded) => {}
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
        if self.worker.discard.get().is_some() {
            return;
        }
        if let Some(log) = self.worker.warp_log.borrow_mut().as_mut() {
            self.sink.merge(job, cta, warp, &log.lanes());
            log.clear();
        }
    }
}

fn plain_loop(worker: &'static Worker, yielder: &FiberYielder) {
    loop {
        worker.run_lanes();
        yielder.suspend(Pause::WarpDone);
    }
}
