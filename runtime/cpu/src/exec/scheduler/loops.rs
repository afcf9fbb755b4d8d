//! Kernels whose threads run in loops that the instrumenter generated, each of which extends to the next barrier or to
//! the end of the kernel. A worker uses one fiber for the whole launch, so that a fault can be caught.

use super::{Outcome, Scheduler};
use crate::errors::CudaError;
use crate::exec::fiber::{Fiber, FiberYielder, Pause};
use crate::exec::job::{Failure, Job};
use crate::exec::worker::{Place, Worker};
use corosensei::CoroutineResult;
use std::cell::Cell;
use superstep_abi::cpu::{DIVERGED, EXIT, Step, WARP_LANES};
use superstep_trace::Recorded;

impl Scheduler {
    pub(super) fn run_loops(&mut self, job: &Job) -> Outcome {
        let mut fiber = Some(self.new_fiber(job, run_forever)?);
        let outcome = self.run_loops_on(job, &mut fiber);
        self.drop_fiber(&mut fiber);
        outcome
    }

    fn run_loops_on(&mut self, job: &Job, fiber: &mut Option<Fiber>) -> Outcome {
        if job.active.recorded != Recorded::All {
            return self.for_each_cta(job, |this, cta| this.run_range(job, cta, cta + 1, fiber));
        }
        while let Some(ctas) = job.take_ctas() {
            self.enter_cta(job, ctas.start);
            self.run_range(job, ctas.start, ctas.end, fiber)?;
        }
        Ok(())
    }

    fn run_range(&mut self, job: &Job, first: u64, last: u64, slot: &mut Option<Fiber>) -> Outcome {
        self.worker.ctas.set((first, last));
        if let Some(log) = self.worker.discard.get() {
            self.worker.set_log(log);
        }
        while let Some(fiber) = slot {
            match fiber.resume(()) {
                CoroutineResult::Yield(Pause::WarpDone) => self.merge_warp(job),
                CoroutineResult::Yield(Pause::LogFull) => self.merge_full_warp(job),
                CoroutineResult::Yield(Pause::Yielded) => return Ok(()),
                CoroutineResult::Yield(Pause::Failed) => {
                    self.merge_warp(job);
                    let failure = self.take_failure();
                    return Err(self.identify_thread(job, failure));
                }
                CoroutineResult::Yield(Pause::Waiting | Pause::Exit) => {
                    let text = "it waits or exits in a way that its module does not declare; rebuild the program, and report this if it happens again";
                    return Err(self.worker.describe(CudaError::LAUNCH_FAILURE, text));
                }
                CoroutineResult::Return(_) => {
                    let last = self.worker.last_access().filter(|_| self.is_logging(job));
                    self.merge_warp(job);
                    let failure = self.take_fault(last);
                    self.drop_fiber(slot);
                    return Err(self.identify_thread(job, failure));
                }
            }
        }
        Ok(())
    }

    /// Reruns a failed CTA thread by thread if the failed thread is unknown. Memory is undefined after a fault anyway.
    fn identify_thread(&mut self, job: &Job, failure: Failure) -> Failure {
        if !self.worker.forgets_thread.take() {
            return failure;
        }
        self.worker.step.set(None);
        let rerun = self.run_fibers(job, self.worker.cta_number.get());
        rerun.err().unwrap_or(failure)
    }
}

fn run_forever(worker: &'static Worker, yielder: &FiberYielder) {
    loop {
        worker.run_ctas();
        yielder.suspend(Pause::Yielded);
    }
}

/// Bitwise AND and OR of the regions in which threads resume; equal if all threads resume in the same region.
struct NextRegions {
    all: u32,
    any: u32,
}

impl NextRegions {
    const EMPTY: NextRegions = NextRegions {
        all: u32::MAX,
        any: 0,
    };

    /// Adds threads that resume in region `next`, or in different regions ([`DIVERGED`]).
    fn add(&mut self, next: u32) {
        (self.all, self.any) = match next {
            DIVERGED => (0, u32::MAX),
            next => (self.all & next, self.any | next),
        };
    }

    /// Returns, like a [`Step`], the region in which all threads resume, [`EXIT`], or [`DIVERGED`].
    fn next(&self) -> u32 {
        if self.all == self.any {
            self.all
        } else {
            DIVERGED
        }
    }
}

impl Worker {
    /// Runs the CTAs in `ctas` in turn on the fiber.
    fn run_ctas(&self) {
        let (Some(job), Some(step)) = (self.job(), self.step.get()) else {
            return;
        };
        let (first, last) = self.ctas.get();
        let cta_loop = CtaLoop {
            worker: self,
            job,
            step,
            frame: self.frame.get().0,
            threads: job.threads(),
            warps: job.threads().div_ceil(WARP_LANES),
            by_warp: job.is_traced() && self.discard.get().is_none(),
            first_warp: Cell::new(0),
        };
        let mut ctaid = job.cta_coordinates(first);
        for cta in first..last {
            if job.is_stopped() {
                return;
            }
            self.cta_number.set(cta);
            // SAFETY: the block is this worker's own thread-local variable; no other thread accesses it at the same time.
            unsafe { (*self.block.get()).ctaid = ctaid };
            cta_loop.run();
            for (coordinate, extent) in ctaid.iter_mut().zip(job.active.launch.grid) {
                *coordinate += 1;
                if *coordinate < extent {
                    break;
                }
                *coordinate = 0;
            }
        }
    }
}

struct CtaLoop<'a> {
    worker: &'a Worker,
    job: &'a Job,
    step: Step,
    frame: *mut u8,
    threads: u32,
    warps: u32,
    /// Whether each warp's log is merged separately.
    by_warp: bool,
    /// The warp that runs first. As with fibers, the warp that completes a barrier continues immediately, so that
    /// programs with races behave the same.
    first_warp: Cell<u32>,
}

impl CtaLoop<'_> {
    fn run(&self) {
        self.first_warp.set(0);
        let mut next = 0;
        while next != EXIT {
            next = match next {
                DIVERGED => self.run_apart(),
                region => self.run_together(region),
            }
        }
    }

    fn call(&self, region: u32, first: u32, last: u32) -> u32 {
        self.worker.place.set(Place::Kernel);
        // SAFETY: the thread state is filled in, the arguments are those that the program passed for this kernel, and
        // the frame is large enough for the CTA.
        let next = unsafe { (self.step)(self.job.arguments.0, self.frame, region, first, last) };
        self.worker.place.set(Place::Runtime);
        next
    }

    /// Runs the CTA's threads in order, in as few ranges as possible or in one range per warp.
    fn ranges(&self, mut run: impl FnMut(u32, u32)) {
        let first = self.first_warp.get();
        if !self.by_warp {
            run(first * WARP_LANES, self.threads);
            if first > 0 {
                run(0, first * WARP_LANES);
            }
            return;
        }
        for warp in (first..self.warps).chain(0..first) {
            self.worker.warp.set(warp);
            self.worker.open_warp_log(None);
            let thread = warp * WARP_LANES;
            run(thread, self.threads.min(thread + WARP_LANES));
            self.worker.suspend(Pause::WarpDone);
        }
    }

    fn run_together(&self, region: u32) -> u32 {
        let mut regions = NextRegions::EMPTY;
        if self.by_warp {
            self.ranges(|first, last| {
                let next = self.call(region, first, last);
                regions.add(next);
                self.store_next(first, last, next);
            });
        } else {
            let first = self.first_warp.get() * WARP_LANES;
            let last = if first > 0 { first } else { self.threads };
            regions.add(self.call(region, first, last));
        }
        let previous = self.first_warp.get().checked_sub(1);
        self.first_warp.set(previous.unwrap_or(self.warps - 1));
        regions.next()
    }

    /// Runs each thread in its own region, up to its next barrier.
    fn run_apart(&self) -> u32 {
        let (mut regions, mut last_warp) = (NextRegions::EMPTY, 0);
        self.ranges(|first, end| {
            let mut thread = first;
            while thread < end {
                let region = self.next(thread);
                let mut last = thread + 1;
                while last < end && self.next(last) == region {
                    last += 1;
                }
                if region != EXIT {
                    last_warp = (last - 1) / WARP_LANES;
                    self.store_next(thread, last, self.call(region, thread, last));
                }
                thread = last;
            }
            (first..end).for_each(|thread| regions.add(self.next(thread)));
        });
        self.first_warp.set(last_warp);
        regions.next()
    }

    /// Returns the region in which a thread resumes.
    fn next(&self, thread: u32) -> u32 {
        // SAFETY: threads diverge only in kernels with a frame, which begins with a region for each thread.
        unsafe { self.frame.cast::<u32>().add(thread as usize).read() }
    }

    /// Stores the region in which threads resume, unless the step function has already stored it.
    fn store_next(&self, first: u32, last: u32, next: u32) {
        if next != DIVERGED && self.job.kernel.frame_bytes > 0 {
            for thread in first..last {
                // SAFETY: the frame begins with a region for each thread of the CTA.
                unsafe { self.frame.cast::<u32>().add(thread as usize).write(next) };
            }
        }
    }
}
