//! The worker threads, which live as long as the program. After a launch, they spin and then sleep.

use crate::exec::fault;
use crate::exec::fiber::{DEFAULT_STACK_BYTES, can_have_guards, workers_for};
use crate::exec::job::Job;
use crate::exec::scheduler::Scheduler;
use crate::exec::threads;
use crate::exec::worker::Worker;
use crate::runtime::session;
use parking_lot::{Condvar, Mutex};
use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Number of polls (tens of microseconds) after which an idle worker or the waiting host thread sleeps.
const SPIN_TURNS: u32 = 4000;
/// Time without a new CTA after which CTAs are assumed to be waiting for others that have not started.
const STALL: Duration = Duration::from_millis(250);
const MAX_WORKERS: usize = 1024;
/// Total size of a worker thread's stack and thread-local variables, which hold static shared memory.
const WORKER_STACK_BYTES: usize = 16 << 20;
/// Maximum number of mappings in a process if `vm.max_map_count` is unknown.
const DEFAULT_MAX_MAPPINGS: usize = 65530;

struct Pool {
    state: Mutex<State>,
    work: Condvar,
    done: Condvar,
    generation: AtomicU64,
    /// Generation of the last launch whose workers have all finished.
    finished: AtomicU64,
    /// Serialises launches.
    launch: Mutex<()>,
    workers: usize,
    stack_bytes: usize,
    max_mappings: usize,
}

#[derive(Default)]
struct State {
    job: Option<Arc<Job>>,
    /// Number of workers that can still join the launch.
    wanted: usize,
    running: usize,
    started: usize,
}

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let config = session().config();
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    Pool {
        state: Mutex::default(),
        work: Condvar::new(),
        done: Condvar::new(),
        generation: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        launch: Mutex::new(()),
        workers: config.cpu_threads.map_or_else(cores, usize::from),
        stack_bytes: (config.cpu_stack_kib).map_or(DEFAULT_STACK_BYTES, |kib| (kib as usize) << 10),
        max_mappings: limit
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(DEFAULT_MAX_MAPPINGS),
    }
});

pub fn worker_count() -> usize {
    POOL.workers
}

/// Returns how many stacks a worker allocates together if all CTAs of a launch run at the same time.
pub fn slab_for(job: &Job) -> usize {
    let threads = job.threads() as usize;
    let stacks = threads.saturating_mul(job.ctas as usize);
    match can_have_guards(stacks, POOL.max_mappings) {
        true => 1,
        false => threads,
    }
}

/// Runs a launch to completion. Fails if no worker thread could be started.
pub fn run(job: &Arc<Job>) -> std::io::Result<()> {
    let pool = &*POOL;
    let _one_at_a_time = pool.launch.lock();
    fault::install_handlers();
    let ctas = usize::try_from(job.ctas).unwrap_or(usize::MAX);
    let mut wanted = pool.workers.min(ctas).max(1);
    if job.grid_barrier.is_some() {
        wanted = ctas;
    } else if job.kernel.step.is_none() {
        wanted = workers_for(wanted, job.threads() as usize, pool.max_mappings);
    }
    let mut state = pool.state.lock();
    match pool.start_workers(&mut state, wanted) {
        Err(error) if state.started == 0 || job.grid_barrier.is_some() => return Err(error),
        _ => {}
    }
    state.job = Some(job.clone());
    state.wanted = wanted;
    let generation = pool.generation.fetch_add(1, Ordering::Release) + 1;
    drop(state);
    pool.wake(wanted);
    pool.wait(generation, job);
    Ok(())
}

impl Pool {
    /// Wakes `wanted` workers; a cooperative launch may need more workers than there are cores.
    fn wake(&self, wanted: usize) {
        if wanted > self.workers {
            self.work.notify_all();
        } else {
            for _ in 0..wanted {
                self.work.notify_one();
            }
        }
    }

    fn start_workers(&'static self, state: &mut State, wanted: usize) -> std::io::Result<()> {
        while state.started < wanted {
            let number = state.started;
            let work = |number| POOL.work_forever(number as u32);
            let name = CString::new(format!("superstep-{number}"))?;
            threads::start(name, WORKER_STACK_BYTES, work, number)?;
            state.started += 1;
        }
        Ok(())
    }

    fn work_forever(&self, number: u32) -> ! {
        let worker: &'static Worker = Box::leak(Box::new(Worker::new(number)));
        worker.become_current();
        block_signals();
        if let Err(error) = fault::give_alternate_stack() {
            session().warning(format_args!(
                "worker {number} has no signal stack, so faults in kernels will terminate the program: {error}"
            ));
        }
        let mut scheduler = Scheduler::new(worker, self.stack_bytes);
        let mut seen = 0;
        loop {
            self.spin_for_work(seen);
            let mut state = self.state.lock();
            let job = loop {
                if state.wanted > 0
                    && let Some(job) = state.job.clone()
                {
                    state.wanted -= 1;
                    state.running += 1;
                    break job;
                }
                self.work.wait(&mut state);
            };
            seen = self.generation.load(Ordering::Acquire);
            drop(state);
            scheduler.run(&job);
            let mut state = self.state.lock();
            state.running -= 1;
            // A worker stops when no CTA is left, so no other worker needs to join.
            state.wanted = 0;
            if state.running == 0 {
                state.job = None;
                self.finished.store(seen, Ordering::Release);
                self.done.notify_all();
            }
        }
    }

    fn spin_for_work(&self, seen: u64) {
        for _ in 0..SPIN_TURNS {
            if self.generation.load(Ordering::Acquire) != seen {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Waits for a launch to complete. On a GPU, all CTAs that fit run at the same time, and programs whose CTAs wait
    /// for each other rely on that. If the CTAs of this launch seem to do so, adds workers, possibly more than there
    /// are cores.
    fn wait(&'static self, generation: u64, job: &Job) {
        for _ in 0..SPIN_TURNS {
            if self.finished.load(Ordering::Acquire) == generation {
                return;
            }
            std::hint::spin_loop();
        }
        let mut state = self.state.lock();
        let mut previous = job.ctas_taken();
        while self.finished.load(Ordering::Acquire) != generation {
            if !self.done.wait_for(&mut state, STALL).timed_out() {
                continue;
            }
            let now = job.ctas_taken();
            // A probe's memory is sized for the original number of workers.
            let may_grow = job.probed.is_none() && state.wanted == 0 && job.grid_barrier.is_none();
            if now.is_some() && now == previous && may_grow {
                self.double_workers(&mut state, job);
            }
            previous = now;
        }
    }

    /// Doubles the number of workers if the system can start that many threads.
    fn double_workers(&'static self, state: &mut State, job: &Job) {
        let mut limit = MAX_WORKERS;
        if job.kernel.step.is_none() {
            limit = workers_for(limit, job.threads() as usize, self.max_mappings);
        }
        let wanted = (2 * state.running).min(limit);
        let _ = self.start_workers(state, wanted);
        state.wanted = wanted.min(state.started).saturating_sub(state.running);
        self.work.notify_all();
    }
}

/// Blocks the program's signals in this thread.
fn block_signals() {
    // SAFETY: initialises a signal set and blocks it for this thread, except for fault signals.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigfillset(&mut set);
        for signal in fault::SIGNALS
            .into_iter()
            .chain([libc::SIGABRT, libc::SIGTRAP])
        {
            libc::sigdelset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}
