//! The thread that reads the times of finished launches and looks for faults and silent streams.
//!
//! Only this thread may block inside CUDA, so that the consumers never do.

use super::queue::Ticket;
use super::signals::{self, MONITORED, OPEN_LAUNCHES, PROGRESS, REST_REQUESTED, wait_while};
use crate::cuda::device::set_device;
use crate::cuda::graph::relax_capture;
use crate::cuda::{Event, Status};
use crate::recorder::launch::opaque::OpaqueRunning;
use crate::recorder::runtime::{runtime, session};
use crate::recorder::thesis::consumer::Ending;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use superstep_runtime_core::ActiveLaunch;
use superstep_trace::{Launch, LaunchOutcome, OpaqueLaunch};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Default time without progress after which a kernel is reported.
const WATCHDOG: Duration = Duration::from_secs(30);

/// A launch whose completion the monitor handles.
pub enum Item {
    /// A traced launch that has been completely written, except for its time.
    Traced(Arc<Ticket>, Ending),
    Queued(Queued),
    Opaque(OpaqueRunning),
}

pub struct Queued {
    pub active: ActiveLaunch,
    /// Events recorded before and after the kernel.
    pub events: [Option<Event>; 2],
    pub results: Option<Results>,
    pub refused: Option<String>,
}

/// Results that the device copies to the host after a launch.
pub struct Results {
    /// Recorded after the copy.
    pub done: Event,
    /// Writes the results, once `done` has completed without an error; returns the launch's number of accesses.
    pub write: Box<dyn FnOnce(&ActiveLaunch) -> u64 + Send>,
}

pub struct Monitor {
    items: Mutex<Sender<Item>>,
    sent: AtomicU64,
    done: Arc<AtomicU64>,
}

impl Monitor {
    pub fn start(ordinal: c_int) -> Self {
        let (sender, receiver) = channel();
        let done = Arc::new(AtomicU64::new(0));
        let patience = session().config().watchdog.unwrap_or(WATCHDOG);
        let worker = Worker {
            watchdog: Some(patience).filter(|time| !time.is_zero()),
            silences: HashMap::new(),
            done: done.clone(),
        };
        let spawned = std::thread::Builder::new()
            .name("superstep-monitor".to_owned())
            .spawn(move || {
                // Otherwise, the thread would create a context on device 0. If this fails, the thread's next call
                // reports it.
                let _ = set_device(ordinal);
                // This thread's calls must not invalidate a capture that the program has in progress.
                relax_capture();
                signals::block();
                worker.run(&receiver);
            });
        MONITORED.store(std::process::id() as i32, Ordering::Release);
        if let Err(error) = spawned {
            session().fault(format!(
                "failed to start the monitor thread: {error}; times and faults are not recorded"
            ));
        }
        Monitor {
            items: Mutex::new(sender),
            sent: AtomicU64::new(0),
            done,
        }
    }

    pub fn send(&self, item: Item) {
        let items = self.items.lock();
        OPEN_LAUNCHES.fetch_add(1, Ordering::AcqRel);
        if items.send(item).is_ok() {
            self.sent.fetch_add(1, Ordering::Relaxed);
        } else {
            OPEN_LAUNCHES.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Blocks until every item sent so far has been processed. Returns `false` after `stall` without progress.
    pub fn wait(&self, stall: Duration) -> bool {
        let goal = self.sent.load(Ordering::Relaxed);
        let done = || self.done.load(Ordering::Acquire);
        wait_while(|| done() < goal, done, stall)
    }
}

struct Silence {
    progress: u64,
    serial: u64,
    since: Instant,
    is_reported: bool,
}

struct Worker {
    watchdog: Option<Duration>,
    silences: HashMap<usize, Silence>,
    done: Arc<AtomicU64>,
}

impl Worker {
    fn run(mut self, items: &Receiver<Item>) {
        let mut last_poll = Instant::now();
        loop {
            match items.recv_timeout(POLL_INTERVAL) {
                Ok(item) => {
                    match item {
                        Item::Traced(ticket, ending) => self.traced(&ticket, ending),
                        Item::Queued(queued) => self.queued(queued),
                        Item::Opaque(running) => self.opaque(&running),
                    }
                    self.done.fetch_add(1, Ordering::Release);
                    PROGRESS.fetch_add(1, Ordering::Relaxed);
                    OPEN_LAUNCHES.fetch_sub(1, Ordering::AcqRel);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if REST_REQUESTED.load(Ordering::Acquire) {
                runtime().write_rest();
                REST_REQUESTED.store(false, Ordering::Release);
            }
            if last_poll.elapsed() >= POLL_INTERVAL {
                self.look_for_faults();
                self.look_for_silence();
                last_poll = Instant::now();
            }
        }
    }

    fn traced(&self, ticket: &Ticket, ending: Ending) {
        let name = name(&ticket.active.launch);
        let Ending { lost, broken, .. } = ending;
        if lost > 0 {
            session().records_lost(lost);
            let text =
                format!("{name}: {lost} records were reserved on the device but never written");
            match ending.failure {
                Some(_) => session().warning(text),
                None => session().fault(text),
            }
        }
        if broken > 0 && ending.failure.is_none() {
            session().fault(format!(
                "{name}: {broken} records arrived without the rest of their access groups"
            ));
        }
        let failed = ending.failure.is_some();
        let (active, accesses) = (&ticket.active, ending.thread_accesses);
        let is_fault = !ticket.was_refused();
        end(active, accesses, ticket.events, ending.failure, is_fault);
        if !failed {
            runtime().events.give_back(ticket.events);
        }
    }

    fn queued(&self, queued: Queued) {
        let done = queued.results.as_ref().map(|results| results.done);
        let status = (done.or(queued.events[1])).map_or(Status::SUCCESS, Event::synchronize);
        let is_fault = !status.is_success();
        let failure = queued
            .refused
            .or_else(|| is_fault.then(|| status.to_string()));
        let thread_accesses = match queued.results {
            Some(results) if failure.is_none() => (results.write)(&queued.active),
            _ => 0,
        };
        let (active, events) = (&queued.active, queued.events);
        end(active, thread_accesses, events, failure, is_fault);
        if !is_fault {
            runtime().events.give_back(events.into_iter().chain([done]));
        }
    }

    fn opaque(&self, running: &OpaqueRunning) {
        let [Some(start), Some(end)] = running.events else {
            return;
        };
        let kernel = running.kernel.as_deref();
        let status = end.synchronize();
        if !status.is_success() {
            let name = kernel.unwrap_or(OpaqueLaunch::UNNAMED);
            return session().fault(format!("opaque launch of {name}: {status}"));
        }
        if let Ok(elapsed_ns) = Event::elapsed_ns([start, end]) {
            session().opaque_end(running.launch, kernel, elapsed_ns);
        }
        runtime().events.give_back(running.events);
    }

    /// Looks for faults, since a stream that has stopped with an error calls no host functions.
    fn look_for_faults(&self) {
        for queue in runtime().tracing.buffers.queues() {
            let ticket = queue.peek().filter(|ticket| ticket.is_submitted());
            let Some(event) = ticket.and_then(|ticket| ticket.fault_event) else {
                continue;
            };
            let status = event.query();
            if !status.is_success() && status != Status::NOT_READY {
                queue.fault(&status.to_string());
            }
        }
    }

    /// Warns about streams that have made no progress for the watchdog's timeout.
    fn look_for_silence(&mut self) {
        let Some(patience) = self.watchdog else {
            return;
        };
        for queue in runtime().tracing.buffers.queues() {
            let key = Arc::as_ptr(&queue) as usize;
            let Some(ticket) = queue.peek() else {
                self.silences.remove(&key);
                continue;
            };
            let (progress, serial) = (queue.progress(), ticket.serial);
            let new = || Silence {
                progress,
                serial,
                since: Instant::now(),
                is_reported: false,
            };
            let silence = self.silences.entry(key).or_insert_with(new);
            if (silence.progress, silence.serial) != (progress, serial) {
                *silence = new();
            } else if !silence.is_reported && silence.since.elapsed() >= patience {
                silence.is_reported = true;
                let launch = &ticket.active.launch;
                session().warning(format!(
                    "no progress for {} s in stream {}: launch {} of kernel {} has not ended, and no accesses have arrived; it may be computing, waiting for an event that never happens, or queued behind earlier work",
                    patience.as_secs(), launch.stream, launch.launch, launch.kernel
                ));
            }
        }
    }
}

fn name(launch: &Launch) -> String {
    let (kernel, stream, launch) = (&launch.kernel, launch.stream, launch.launch);
    format!("kernel {kernel} (stream {stream}, launch {launch})")
}

fn end(
    active: &ActiveLaunch,
    thread_accesses: u64,
    events: [Option<Event>; 2],
    failure: Option<String>,
    is_fault: bool,
) {
    let (elapsed_ns, outcome) = match failure {
        None => {
            // The time of a launch without events is unknown.
            let elapsed_ns = match events {
                [Some(start), Some(end)] => Event::elapsed_ns([start, end]).unwrap_or(0),
                _ => 0,
            };
            (elapsed_ns, LaunchOutcome::Completed)
        }
        Some(reason) => {
            let text = format!("{}: {reason}", name(&active.launch));
            if is_fault {
                session().fault(text);
            } else {
                session().warning(text);
            }
            (0, LaunchOutcome::Failed(reason))
        }
    };
    session().launch_end(active, thread_accesses, elapsed_ns, outcome);
}
