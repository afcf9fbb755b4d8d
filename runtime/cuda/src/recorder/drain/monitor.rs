//! The thread that asks the device: times of ended launches, and whether a silent stream has faulted.
//!
//! It is the only thread of ours that may block inside CUDA, so that the consumers never do.

use crate::cuda::ffi;
use crate::cuda::real;
use crate::recorder::count::Counted;
use crate::recorder::drain::queue::Ticket;
use crate::recorder::drain::signals::{ASKED_FOR_REST, MONITORED, OPEN_LAUNCHES, PROGRESS};
use crate::recorder::in_situ::Summed;
use crate::recorder::opaque::Running;
use crate::recorder::runtime::Runtime;
use crate::recorder::thesis::consumer::Ending;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use superstep_runtime_core::{ActiveLaunch, Session};
use superstep_trace::{Launch, LaunchOutcome, OpaqueLaunch};

/// How often silent streams are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Something to be found out.
pub enum Item {
    /// A traced launch is written completely; only its time is missing.
    Traced(Arc<Ticket>, Ending),
    /// A launch without records is in its stream.
    Queued(Queued),
    /// An opaque launch is in its stream.
    Opaque(Running),
}

/// A launch whose end nobody else waits for.
pub struct Queued {
    pub active: ActiveLaunch,
    /// Events before and after the kernel.
    pub events: [usize; 2],
    /// What the counting probe will have counted.
    pub counted: Option<Counted>,
    /// What the launch will have added up.
    pub summed: Option<Summed>,
    /// What the launch call answered, if not success.
    pub refused: Option<String>,
}

/// The monitor's end that others hold.
pub struct Monitor {
    items: Mutex<Sender<Item>>,
    sent: AtomicU64,
    done: Arc<AtomicU64>,
}

impl Monitor {
    pub fn start(runtime: &'static Runtime, ordinal: c_int) -> Self {
        let (sender, receiver) = channel();
        let done = Arc::new(AtomicU64::new(0));
        let worker = Worker {
            watchdog: watchdog(runtime.session),
            silences: HashMap::new(),
            runtime,
            done: done.clone(),
        };
        let spawned = std::thread::Builder::new()
            .name("superstep-monitor".to_owned())
            .spawn(move || {
                // SAFETY: no pointers. Without this, the thread would make a context on device 0.
                unsafe { real::set_device(ordinal) };
                // What this thread asks must not spoil a capture into a CUDA graph that the program makes meanwhile.
                real::relax_capture_mode();
                crate::recorder::drain::signals::block();
                worker.run(&receiver);
            });
        MONITORED.store(std::process::id() as i32, Ordering::Release);
        if let Err(error) = spawned {
            runtime.session.fault(format!(
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

    /// Waits until everything handed over so far is found out. Gives up, with `false`, when nothing moves for `stall`.
    pub fn wait(&self, stall: Duration) -> bool {
        let goal = self.sent.load(Ordering::Relaxed);
        let left = || goal.saturating_sub(self.done.load(Ordering::Acquire));
        wait_for_none(left, stall)
    }
}

/// Waits until nothing is `left`. Gives up, with `false`, when that has not changed for `stall`.
pub fn wait_for_none(left: impl Fn() -> u64, stall: Duration) -> bool {
    let (mut last, mut since) = (left(), Instant::now());
    while last > 0 {
        std::thread::sleep(Duration::from_millis(1));
        let now = left();
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() >= stall {
            return false;
        }
    }
    true
}

/// What is known of a queue whose launches do not move.
struct Silence {
    progress: u64,
    serial: u64,
    since: Instant,
    told: bool,
}

struct Worker {
    watchdog: Option<Duration>,
    silences: HashMap<usize, Silence>,
    runtime: &'static Runtime,
    done: Arc<AtomicU64>,
}

impl Worker {
    fn run(mut self, items: &Receiver<Item>) {
        let mut looked = Instant::now();
        loop {
            match items.recv_timeout(LOOK_EVERY) {
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
            if ASKED_FOR_REST.load(Ordering::Acquire) {
                self.runtime.write_rest();
                ASKED_FOR_REST.store(false, Ordering::Release);
            }
            if looked.elapsed() >= LOOK_EVERY {
                self.look_for_faults();
                self.look_for_silence();
                looked = Instant::now();
            }
        }
    }

    fn traced(&self, ticket: &Ticket, ending: Ending) {
        let session = self.runtime.session;
        let name = name(&ticket.active.launch);
        let Ending { lost, broken, .. } = ending;
        if lost > 0 {
            session.records_lost(lost);
            let text =
                format!("{name}: {lost} records were reserved on the device and never written");
            match ending.failure {
                Some(_) => session.warning(text),
                None => session.fault(text),
            }
        }
        if broken > 0 && ending.failure.is_none() {
            session.fault(format!(
                "{name}: {broken} records came without the rest of their access group"
            ));
        }
        let failed = ending.failure.is_some();
        let (active, accesses) = (&ticket.active, ending.thread_accesses);
        let is_fault = !ticket.was_refused();
        self.end(active, accesses, ticket.events, ending.failure, is_fault);
        if !failed {
            self.runtime.events.give_back(&ticket.events);
        }
    }

    fn queued(&self, queued: Queued) {
        let counted_at = queued.counted.as_ref().map(|counted| counted.done);
        let summed_at = queued.summed.as_ref().map(|summed| summed.done);
        let last = counted_at.or(summed_at).unwrap_or(queued.events[1]);
        let error = if last == 0 {
            ffi::SUCCESS
        } else {
            // SAFETY: the event was made by the runtime and is given back only below.
            unsafe { real::event_synchronize(last as ffi::Event) }
        };
        let is_fault = error != ffi::SUCCESS;
        let failure = queued
            .refused
            .or_else(|| is_fault.then(|| real::describe(error)));
        let mut thread_accesses = 0;
        if let Some(counted) = queued.counted {
            if failure.is_none() {
                let counts = counted.read();
                thread_accesses = counts.iter().map(|(_, count)| count).sum();
                self.runtime.session.site_counts(&queued.active, counts);
            }
            if !is_fault {
                self.runtime.events.give_back(&[counted.done]);
            }
            counted.give_back();
        }
        if let Some(summed) = queued.summed {
            if failure.is_none() {
                thread_accesses = summed.keep(self.runtime, &queued.active);
            }
            if !is_fault {
                self.runtime.events.give_back(&[summed.done]);
            }
            summed.give_back();
        }
        self.end(
            &queued.active,
            thread_accesses,
            queued.events,
            failure,
            is_fault,
        );
        if !is_fault {
            self.runtime.events.give_back(&queued.events);
        }
    }

    fn opaque(&self, running: &Running) {
        let Running {
            launch,
            kernel,
            events,
        } = running;
        if events.contains(&0) {
            return;
        }
        // SAFETY: the event was made by the runtime and is given back only below.
        let error = unsafe { real::event_synchronize(events[1] as ffi::Event) };
        let session = self.runtime.session;
        if error != ffi::SUCCESS {
            let name = kernel.as_deref().unwrap_or(OpaqueLaunch::UNNAMED);
            return session.fault(format!(
                "opaque launch of {name}: {}",
                real::describe(error)
            ));
        }
        if let Ok(elapsed_ns) = real::elapsed_ns(*events) {
            session.opaque_end(*launch, kernel.as_deref(), elapsed_ns);
        }
        self.runtime.events.give_back(events);
    }

    fn end(
        &self,
        active: &ActiveLaunch,
        thread_accesses: u64,
        events: [usize; 2],
        failure: Option<String>,
        is_fault: bool,
    ) {
        let session = self.runtime.session;
        let (elapsed_ns, outcome) = match failure {
            // Without its events a launch has no time.
            None if events.contains(&0) => (0, LaunchOutcome::Completed),
            None => {
                let elapsed_ns = real::elapsed_ns(events).unwrap_or(0);
                (elapsed_ns, LaunchOutcome::Completed)
            }
            Some(reason) => {
                let text = format!("{}: {reason}", name(&active.launch));
                if is_fault {
                    session.fault(text);
                } else {
                    session.warning(text);
                }
                (0, LaunchOutcome::Failed(reason))
            }
        };
        session.launch_end(active, thread_accesses, elapsed_ns, outcome);
    }

    /// A stream that has stopped with an error calls no host function, so somebody has to ask.
    fn look_for_faults(&self) {
        for queue in self.runtime.lanes.queues() {
            let Some(ticket) = queue
                .peek()
                .filter(|ticket| ticket.is_submitted() && ticket.ask != 0)
            else {
                continue;
            };
            // SAFETY: the event was made by the runtime; the ticket's events are given back when it has ended.
            let error = unsafe { real::event_query(ticket.ask as ffi::Event) };
            if error != ffi::SUCCESS && error != ffi::NOT_READY {
                queue.fault(&real::describe(error));
            }
        }
    }

    /// Names the kernel of a stream in which nothing has moved for a long time.
    fn look_for_silence(&mut self) {
        let Some(patience) = self.watchdog else {
            return;
        };
        for queue in self.runtime.lanes.queues() {
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
                told: false,
            };
            let silence = self.silences.entry(key).or_insert_with(new);
            if (silence.progress, silence.serial) != (progress, serial) {
                *silence = new();
            } else if !silence.told && silence.since.elapsed() >= patience {
                silence.told = true;
                let launch = &ticket.active.launch;
                self.runtime.session.warning(format!(
                    "nothing has moved for {} s in stream {}: launch {} of kernel {} has not ended, and none of its accesses has arrived; it computes, it waits for something that does not happen, or its stream still waits for earlier work",
                    patience.as_secs(), launch.stream, launch.launch, launch.kernel
                ));
            }
        }
    }
}

/// `SUPERSTEP_WATCHDOG_S`: after how many seconds without a sign of life a kernel is named; 0: never.
fn watchdog(session: &Session) -> Option<Duration> {
    const USUAL: Duration = Duration::from_secs(30);
    let text = std::env::var("SUPERSTEP_WATCHDOG_S").unwrap_or_default();
    match text.parse::<u64>() {
        Ok(0) => None,
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) if text.is_empty() => Some(USUAL),
        Err(_) => {
            session.fault(format!(
                "failed to read SUPERSTEP_WATCHDOG_S={text:?}: expected a number of seconds, 0 for none"
            ));
            Some(USUAL)
        }
    }
}

fn name(launch: &Launch) -> String {
    let (kernel, stream, launch) = (&launch.kernel, launch.stream, launch.launch);
    format!("kernel {kernel} (stream {stream}, launch {launch})")
}
