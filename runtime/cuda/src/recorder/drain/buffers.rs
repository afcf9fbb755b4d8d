//! Buffers and the threads that empty them, one buffer for each stream that runs traced kernels.

use super::monitor::Item;
use super::queue::{Queue, Ticket};
use super::signals;
use crate::cuda::{Event, GraphExec};
use crate::recorder::RecordError;
use crate::recorder::runtime::{monitor, session};
use crate::recorder::stream::shared::SharedRing;
use crate::recorder::stream::{self, workers};
use crate::recorder::thesis::buffer::Buffer;
use crate::recorder::thesis::consumer::{Consumer, Ending, Sink};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use superstep_trace::{ChunkBuilder, StreamId};

pub struct DrainBuffer {
    device: i32,
    pub queue: Arc<Queue>,
    pub context: u64,
    /// Combined with the launch's number in the second trailing parameter.
    pub parameter: u64,
    /// Queued after each kernel, if the protocol needs it.
    pub flush: Option<stream::Flush>,
    /// Held while a launch is put into the stream, so that the queue and the stream have the same order.
    pub submit: Mutex<()>,
    /// The last instance of a CUDA graph to use the buffer, and an event recorded after its launch.
    pub last: Mutex<Option<(GraphExec, Event)>>,
    consumers: Mutex<Vec<JoinHandle<()>>>,
}

/// Stack size of a consumer thread, whose data is on the heap.
const STACK_BYTES: usize = 512 << 10;

pub enum Transport {
    Thesis(Buffer),
    Stream(stream::Buffer, stream::Settings),
}

#[derive(Clone, Copy)]
struct CaptureSink;

impl Sink for CaptureSink {
    fn write(&mut self, ticket: &Ticket, chunk: &mut ChunkBuilder) {
        session().write_chunk(&ticket.active, chunk);
    }

    fn end(&mut self, ticket: &Arc<Ticket>, ending: Ending) {
        monitor().send(Item::Traced(ticket.clone(), ending));
    }
}

impl DrainBuffer {
    fn start(device: i32, transport: Transport) -> Result<Arc<Self>, RecordError> {
        let queue = Arc::new(match &transport {
            Transport::Thesis(_) => Queue::default(),
            Transport::Stream(buffer, _) => Queue::counted(buffer.ended),
        });
        let spawn = |mut run: Box<dyn FnMut() + Send>| {
            let work = move || {
                signals::block();
                let mut panics = 0;
                while catch_unwind(AssertUnwindSafe(&mut run)).is_err() {
                    // A kernel waits for this thread, so the thread is restarted once. A second panic would have the
                    // same cause.
                    panics += 1;
                    session().fault("the consumer of a stream panicked; this is a bug in Superstep, and accesses are missing");
                    if panics == 2 {
                        session().finish_at_exit();
                        std::process::abort();
                    }
                }
            };
            std::thread::Builder::new()
                .name("superstep-consumer".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(work)
        };
        let (context, parameter, flush, consumers) = match transport {
            Transport::Thesis(buffer) => {
                let mut consumer = Consumer::new(queue.clone(), buffer.bins, CaptureSink);
                let consumer = spawn(Box::new(move || consumer.run()))?;
                (buffer.context, 0, None, vec![consumer])
            }
            Transport::Stream(buffer, settings) => {
                let team = workers::Team::new(settings.workers);
                let rings = SharedRing::all(buffer.rings);
                let mut consumers = Vec::new();
                for number in 0..settings.workers {
                    let (queue, team, rings) = (queue.clone(), team.clone(), rings.clone());
                    let mut worker =
                        workers::Worker::new(queue, team, number, rings, settings, CaptureSink);
                    consumers.push(spawn(Box::new(move || worker.run()))?);
                }
                let parameter = buffer.shape.parameter();
                (buffer.context, parameter, Some(buffer.flush), consumers)
            }
        };
        Ok(Arc::new(DrainBuffer {
            device,
            queue,
            context,
            parameter,
            flush,
            submit: Mutex::new(()),
            last: Mutex::default(),
            consumers: Mutex::new(consumers),
        }))
    }

    fn stop(&self) {
        self.queue.close();
        for consumer in self.consumers.lock().drain(..) {
            // The thread catches its own panics.
            let _ = consumer.join();
        }
    }
}

#[derive(Default)]
struct State {
    by_stream: HashMap<StreamId, Arc<DrainBuffer>>,
    /// Buffers of destroyed streams. An empty one is reused for the device's next stream.
    idle: Vec<Arc<DrainBuffer>>,
    /// Buffers of kernels in CUDA graphs. A buffer that no graph uses any more is reused for the device's next graph.
    graph_buffers: Vec<Arc<DrainBuffer>>,
}

impl State {
    fn all(&self) -> impl Iterator<Item = &Arc<DrainBuffer>> {
        let others = self.idle.iter().chain(&self.graph_buffers);
        self.by_stream.values().chain(others)
    }
}

type CreateTransport<'a> = &'a dyn Fn() -> Result<Transport, RecordError>;

#[derive(Default)]
pub struct DrainBuffers(Mutex<State>);

impl DrainBuffers {
    /// Returns the buffer of `stream`, which runs on `device`; creates it with `transport` the first time.
    pub fn of(
        &self,
        stream: StreamId,
        device: i32,
        transport: CreateTransport<'_>,
    ) -> Result<Arc<DrainBuffer>, RecordError> {
        let reused = {
            let mut state = self.0.lock();
            if let Some(buffer) = state.by_stream.get(&stream) {
                return Ok(buffer.clone());
            }
            let is_free = |buffer: &Arc<DrainBuffer>| {
                buffer.device == device && buffer.queue.peek().is_none()
            };
            let free = state.idle.iter().position(is_free);
            free.map(|index| state.idle.swap_remove(index))
        };
        // Allocates without holding the lock. If two threads use a new stream at the same time, one of their buffers
        // becomes idle and is reused for the next stream.
        let buffer = match reused {
            Some(buffer) => buffer,
            None => DrainBuffer::start(device, transport()?)?,
        };
        let mut state = self.0.lock();
        if let Some(first) = state.by_stream.get(&stream).cloned() {
            state.idle.push(buffer);
            return Ok(first);
        }
        state.by_stream.insert(stream, buffer.clone());
        Ok(buffer)
    }

    pub fn prepare(&self, device: i32, transport: CreateTransport<'_>) -> Result<(), RecordError> {
        let buffer = DrainBuffer::start(device, transport()?)?;
        self.0.lock().idle.push(buffer);
        Ok(())
    }

    /// Returns a buffer for kernels in a CUDA graph on `device`; creates one with `transport` if none is free.
    pub fn of_graph(
        &self,
        device: i32,
        transport: CreateTransport<'_>,
    ) -> Result<Arc<DrainBuffer>, RecordError> {
        let is_free = |buffer: &&Arc<DrainBuffer>| {
            buffer.device == device
                && Arc::strong_count(buffer) == 1
                && buffer.queue.peek().is_none()
        };
        if let Some(buffer) = self.0.lock().graph_buffers.iter().find(is_free) {
            return Ok(buffer.clone());
        }
        let buffer = DrainBuffer::start(device, transport()?)?;
        self.0.lock().graph_buffers.push(buffer.clone());
        Ok(buffer)
    }

    /// Makes the buffer of a destroyed stream available to another stream, once its launches have ended.
    pub fn retire(&self, stream: StreamId) {
        let mut state = self.0.lock();
        let buffer = state.by_stream.remove(&stream);
        state.idle.extend(buffer);
    }

    pub fn queues(&self) -> Vec<Arc<Queue>> {
        let state = self.0.lock();
        state.all().map(|buffer| buffer.queue.clone()).collect()
    }

    /// Waits for all launches. Returns `false` after `stall` without progress.
    pub fn wait(&self, stall: Duration) -> bool {
        let queues = self.queues();
        queues.iter().all(|queue| queue.wait_until_empty(stall))
    }

    /// Waits for all launches, or until there is no progress for `stall`, then stops all consumers. The buffers must
    /// not be used afterwards.
    pub fn stop(&self, stall: Duration) {
        // Leaves the buffers in place for the monitor, since a stream may have faulted.
        let buffers: Vec<_> = self.0.lock().all().cloned().collect();
        for buffer in &buffers {
            buffer.queue.wait_until_empty(stall);
        }
        for buffer in &buffers {
            buffer.stop();
        }
        *self.0.lock() = State::default();
    }
}
