//! Kernels whose threads never wait: the threads of a CTA run one after the other on one fiber, so that a fault
//! can be caught.

use super::{Outcome, Scheduler};
use crate::exec::fiber::{Fiber, FiberYielder, Pause};
use crate::exec::job::Job;
use crate::exec::worker::Worker;
use corosensei::CoroutineResult;
use superstep_abi::cpu::WARP_LANES;

impl Scheduler {
    pub(super) fn run_plain(&mut self, job: &Job) -> Outcome {
        let mut fiber = None;
        let outcome = self.for_each_cta(job, |this, _| this.run_plain_cta(job, &mut fiber));
        self.drop_fiber(&mut fiber);
        outcome
    }

    fn run_plain_cta(&mut self, job: &Job, fiber: &mut Option<Fiber>) -> Outcome {
        let threads = job.threads();
        for warp in 0..threads.div_ceil(WARP_LANES) {
            self.worker.warp.set(warp);
            let (first, last) = (warp * WARP_LANES, (warp + 1) * WARP_LANES);
            self.worker.next_thread.set(first);
            self.worker.end_thread.set(threads.min(last));
            self.worker.open_warp_log(None);
            let outcome = self.run_plain_warp(job, fiber);
            self.merge_warp(job);
            outcome?;
        }
        Ok(())
    }

    fn run_plain_warp(&mut self, job: &Job, slot: &mut Option<Fiber>) -> Outcome {
        loop {
            let fiber = match slot {
                Some(fiber) => fiber,
                None => slot.insert(self.new_fiber(job, plain_loop)?),
            };
            match fiber.resume(()) {
                CoroutineResult::Yield(Pause::WarpDone) => return Ok(()),
                CoroutineResult::Yield(Pause::LogFull) => self.merge_full_warp(job),
                CoroutineResult::Yield(Pause::Waiting | Pause::Yielded) => {}
                CoroutineResult::Yield(Pause::Exit) => self.drop_fiber(slot),
                CoroutineResult::Yield(Pause::Failed) => {
                    self.drop_fiber(slot);
                    return Err(self.take_failure());
                }
                CoroutineResult::Return(_) => {
                    self.drop_fiber(slot);
                    let last = self.worker.last_access().filter(|_| self.is_logging(job));
                    return Err(self.take_fault(last));
                }
            }
        }
    }
}

fn plain_loop(worker: &'static Worker, yielder: &FiberYielder) {
    loop {
        worker.run_lanes();
        yielder.suspend(Pause::WarpDone);
    }
}
