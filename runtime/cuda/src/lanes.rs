//! One buffer and one consumer thread for each stream that runs traced kernels.

use crate::consumer::{Consumer, Ending, Sink};
use crate::device::Buffer;
use crate::monitor::{Item, Monitor};
use crate::queue::{Queue, Ticket};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use superstep_runtime_core::Session;
use superstep_trace::{ChunkBuilder, StreamId};

/// A buffer with its consumer.
pub struct Lane {
    /// Its launches.
    pub queue: Arc<Queue>,
    /// The device's address of its context.
    pub context: u64,
    /// Held while a launch is put into the stream, so that the queue has the stream's order.
    pub submit: Mutex<()>,
    consumer: Mutex<Option<JoinHandle<()>>>,
}

/// Passes a consumer's work on.
struct CaptureSink {
    session: &'static Session,
    monitor: &'static OnceLock<Monitor>,
}

impl Sink for CaptureSink {
    fn write(&mut self, ticket: &Ticket, chunk: &mut ChunkBuilder) {
        self.session.write_chunk(&ticket.active, chunk);
    }

    fn end(&mut self, ticket: &Arc<Ticket>, ending: Ending) {
        if let Some(monitor) = self.monitor.get() {
            monitor.send(Item::Traced(ticket.clone(), ending));
        }
    }
}

impl Lane {
    fn start(
        buffer: Buffer,
        session: &'static Session,
        monitor: &'static OnceLock<Monitor>,
    ) -> Result<Self, String> {
        let queue = Arc::new(Queue::default());
        let mut consumer =
            Consumer::new(queue.clone(), buffer.bins, CaptureSink { session, monitor });
        let work = move || {
            let mut panics = 0;
            while catch_unwind(AssertUnwindSafe(|| consumer.run())).is_err() {
                // A kernel waits for this thread, so it goes on once; a second time would be the same error again.
                panics += 1;
                session.fault("the consumer of a stream panicked; this is a bug of Superstep, and accesses are missing");
                if panics == 2 {
                    session.finish_at_exit();
                    std::process::abort();
                }
            }
        };
        let consumer = std::thread::Builder::new()
            .name("superstep-consumer".to_owned())
            .spawn(work)
            .map_err(|error| format!("failed to start a consumer thread: {error}"))?;
        Ok(Lane {
            queue,
            context: buffer.context,
            submit: Mutex::new(()),
            consumer: Mutex::new(Some(consumer)),
        })
    }

    /// Ends the consumer; whatever it has is written.
    fn stop(&self) {
        self.queue.close();
        let consumer = self
            .consumer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(consumer) = consumer {
            // The thread catches its own panics.
            let _ = consumer.join();
        }
    }
}

#[derive(Default)]
struct State {
    by_stream: HashMap<StreamId, Arc<Lane>>,
    /// Of destroyed streams: for the next stream, when they are empty.
    idle: Vec<Arc<Lane>>,
}

/// All lanes.
#[derive(Default)]
pub struct Lanes(Mutex<State>);

impl Lanes {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lane of `stream`; made with `buffer` the first time.
    ///
    /// # Errors
    /// What `buffer` says, or that no thread can be started.
    pub fn of(
        &self,
        stream: StreamId,
        session: &'static Session,
        monitor: &'static OnceLock<Monitor>,
        buffer: impl FnOnce() -> Result<Buffer, String>,
    ) -> Result<Arc<Lane>, String> {
        if let Some(lane) = self.lock().by_stream.get(&stream) {
            return Ok(lane.clone());
        }
        let reused = {
            let mut state = self.lock();
            let free = state
                .idle
                .iter()
                .position(|lane| lane.queue.peek().is_none());
            free.map(|index| state.idle.swap_remove(index))
        };
        // Nobody waits for the lock while the runtime allocates. Two threads that use a new stream at the same time
        // may both come here: the first one's lane is taken, the other one waits for the next stream.
        let lane = match reused {
            Some(lane) => lane,
            None => Arc::new(Lane::start(buffer()?, session, monitor)?),
        };
        let mut state = self.lock();
        if let Some(first) = state.by_stream.get(&stream).cloned() {
            state.idle.push(lane);
            return Ok(first);
        }
        state.by_stream.insert(stream, lane.clone());
        Ok(lane)
    }

    /// A stream was destroyed: its lane serves another one once its launches have ended.
    pub fn retire(&self, stream: StreamId) {
        let mut state = self.lock();
        if let Some(lane) = state.by_stream.remove(&stream) {
            state.idle.push(lane);
        }
    }

    /// The queues of all lanes.
    pub fn queues(&self) -> Vec<Arc<Queue>> {
        let state = self.lock();
        state
            .by_stream
            .values()
            .chain(&state.idle)
            .map(|lane| lane.queue.clone())
            .collect()
    }

    /// Waits for all launches and ends all consumers; what has not moved for `stall` is ended as it is. The buffers
    /// are not used afterwards.
    pub fn stop(&self, stall: Duration) {
        // The monitor has to find them while they are waited for: one of them may have faulted.
        let lanes: Vec<_> = {
            let state = self.lock();
            state
                .by_stream
                .values()
                .chain(&state.idle)
                .cloned()
                .collect()
        };
        for lane in &lanes {
            lane.queue.wait_until_empty(stall);
        }
        for lane in &lanes {
            lane.stop();
        }
        let mut state = self.lock();
        state.by_stream.clear();
        state.idle.clear();
    }
}
