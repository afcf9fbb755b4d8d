//! One buffer and its consumer threads for each stream that runs traced kernels.

use crate::cuda::device::Buffer;
use crate::recorder::drain::monitor::Item;
use crate::recorder::drain::queue::{Queue, Ticket};
use crate::recorder::drain::signals;
use crate::recorder::runtime::{Runtime, runtime};
use crate::recorder::stream::shared::SharedRing;
use crate::recorder::stream::{self, workers};
use crate::recorder::thesis::consumer::{Consumer, Ending, Sink};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use superstep_trace::{ChunkBuilder, StreamId};

/// A buffer with its consumer.
pub struct Lane {
    pub queue: Arc<Queue>,
    /// The device's address of its context.
    pub context: u64,
    /// What the launch's number is combined with in the second trailing parameter.
    pub parameter: u64,
    /// Queued behind each kernel, where the protocol needs it.
    pub flush: Option<stream::Flush>,
    /// Held while a launch is put into the stream, so that the queue has the stream's order.
    pub submit: Mutex<()>,
    /// For the kernels of a CUDA graph: the instance that used the lane last, and the event behind it.
    pub last: Mutex<(usize, usize)>,
    consumers: Mutex<Vec<JoinHandle<()>>>,
}

/// Stack of a consumer thread: its data are on the heap.
const STACK_BYTES: usize = 512 << 10;

/// A stream's way to the host.
pub enum Transport {
    Thesis(Buffer),
    Stream(stream::Buffer, stream::Settings),
}

/// Passes a consumer's work on.
#[derive(Clone, Copy)]
struct CaptureSink(&'static Runtime);

impl Sink for CaptureSink {
    fn write(&mut self, ticket: &Ticket, chunk: &mut ChunkBuilder) {
        self.0.session.write_chunk(&ticket.active, chunk);
    }

    fn end(&mut self, ticket: &Arc<Ticket>, ending: Ending) {
        self.0.monitor().send(Item::Traced(ticket.clone(), ending));
    }
}

impl Lane {
    fn start(transport: Transport) -> Result<Self, String> {
        let queue = Arc::new(match &transport {
            Transport::Thesis(_) => Queue::default(),
            Transport::Stream(buffer, _) => Queue::counted(buffer.ended),
        });
        let sink = CaptureSink(runtime());
        let session = sink.0.session;
        let spawn = |mut run: Box<dyn FnMut() + Send>| {
            let work = move || {
                signals::block();
                let mut panics = 0;
                while catch_unwind(AssertUnwindSafe(&mut run)).is_err() {
                    // A kernel waits for this thread, so it goes on once; a second time would be the same error again.
                    panics += 1;
                    session.fault("the consumer of a stream panicked; this is a bug in Superstep, and accesses are missing");
                    if panics == 2 {
                        session.finish_at_exit();
                        std::process::abort();
                    }
                }
            };
            std::thread::Builder::new()
                .name("superstep-consumer".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(work)
                .map_err(|error| format!("failed to start a consumer thread: {error}"))
        };
        let (context, parameter, flush, consumers) = match transport {
            Transport::Thesis(buffer) => {
                let mut consumer = Consumer::new(queue.clone(), buffer.bins, sink);
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
                        workers::Worker::new(queue, team, number, rings, settings.how, sink);
                    consumers.push(spawn(Box::new(move || worker.run()))?);
                }
                let parameter = buffer.shape.parameter();
                (buffer.context, parameter, Some(buffer.flush), consumers)
            }
        };
        Ok(Lane {
            queue,
            context,
            parameter,
            flush,
            submit: Mutex::new(()),
            last: Mutex::default(),
            consumers: Mutex::new(consumers),
        })
    }

    /// Ends the consumers; whatever they have is written.
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
    by_stream: HashMap<StreamId, Arc<Lane>>,
    /// Of destroyed streams: for the next stream of the device, when they are empty.
    idle: Vec<(i32, Arc<Lane>)>,
    devices: HashMap<StreamId, i32>,
    /// Of kernels in CUDA graphs. Those that nobody else holds are for the next graph of the device.
    of_graphs: Vec<(i32, Arc<Lane>)>,
}

impl State {
    fn all(&self) -> impl Iterator<Item = &Arc<Lane>> {
        let others = self.idle.iter().chain(&self.of_graphs);
        self.by_stream.values().chain(others.map(|(_, lane)| lane))
    }
}

type MakeTransport<'a> = &'a dyn Fn() -> Result<Transport, String>;

#[derive(Default)]
pub struct Lanes(Mutex<State>);

impl Lanes {
    /// The lane of `stream`, which runs on device `device`; made with `transport` the first time.
    pub fn of(
        &self,
        stream: StreamId,
        device: i32,
        transport: MakeTransport<'_>,
    ) -> Result<Arc<Lane>, String> {
        let reused = {
            let mut state = self.0.lock();
            if let Some(lane) = state.by_stream.get(&stream) {
                return Ok(lane.clone());
            }
            let is_free =
                |(of, lane): &(i32, Arc<Lane>)| *of == device && lane.queue.peek().is_none();
            let free = state.idle.iter().position(is_free);
            free.map(|index| state.idle.swap_remove(index).1)
        };
        // Nobody waits for the lock while the runtime allocates. Two threads that use a new stream at the same time
        // may both come here: the first one's lane is taken, the other one waits for the next stream.
        let lane = match reused {
            Some(lane) => lane,
            None => Arc::new(Lane::start(transport()?)?),
        };
        let mut state = self.0.lock();
        if let Some(first) = state.by_stream.get(&stream).cloned() {
            state.idle.push((device, lane));
            return Ok(first);
        }
        state.by_stream.insert(stream, lane.clone());
        state.devices.insert(stream, device);
        Ok(lane)
    }

    /// Makes a lane for the first stream of device `device`, whichever that is, with `transport`.
    pub fn prepare(&self, device: i32, transport: MakeTransport<'_>) -> Result<(), String> {
        let lane = Arc::new(Lane::start(transport()?)?);
        self.0.lock().idle.push((device, lane));
        Ok(())
    }

    /// A lane for kernels of a CUDA graph on device `device`; made with `transport` when none is free.
    pub fn of_graph(&self, device: i32, transport: MakeTransport<'_>) -> Result<Arc<Lane>, String> {
        let is_free = |(of, lane): &&(i32, Arc<Lane>)| {
            *of == device && Arc::strong_count(lane) == 1 && lane.queue.peek().is_none()
        };
        if let Some((_, lane)) = self.0.lock().of_graphs.iter().find(is_free) {
            return Ok(lane.clone());
        }
        let lane = Arc::new(Lane::start(transport()?)?);
        self.0.lock().of_graphs.push((device, lane.clone()));
        Ok(lane)
    }

    /// A stream was destroyed: its lane serves another one once its launches have ended.
    pub fn retire(&self, stream: StreamId) {
        let mut state = self.0.lock();
        let device = state.devices.remove(&stream).unwrap_or(0);
        if let Some(lane) = state.by_stream.remove(&stream) {
            state.idle.push((device, lane));
        }
    }

    /// The queues of all lanes.
    pub fn queues(&self) -> Vec<Arc<Queue>> {
        let state = self.0.lock();
        state.all().map(|lane| lane.queue.clone()).collect()
    }

    /// Waits for all launches. Gives up, with `false`, when nothing has moved for `stall`.
    pub fn wait(&self, stall: Duration) -> bool {
        let queues = self.queues();
        queues.iter().all(|queue| queue.wait_until_empty(stall))
    }

    /// Waits for all launches and ends all consumers; what has not moved for `stall` is ended as it is. The buffers
    /// are not used afterwards.
    pub fn stop(&self, stall: Duration) {
        // The monitor has to find them while they are waited for: one of them may have faulted.
        let lanes: Vec<_> = self.0.lock().all().cloned().collect();
        for lane in &lanes {
            lane.queue.wait_until_empty(stall);
        }
        for lane in &lanes {
            lane.stop();
        }
        let mut state = self.0.lock();
        state.by_stream.clear();
        state.idle.clear();
        state.of_graphs.clear();
    }
}
