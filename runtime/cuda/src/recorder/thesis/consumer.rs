//! The thread that empties a stream's bins and writes the accesses.
//!
//! It makes no CUDA calls, which could deadlock: a launching thread may hold the driver's locks while it waits for the
//! stream, which waits for a kernel, which waits for this thread.

use crate::recorder::drain::queue::{Phase, Queue, Ticket};
use crate::recorder::thesis::bins::{Bins, Taken};
use crate::recorder::thesis::groups::GroupBuilder;
use crate::recorder::thesis::record::Record;
use std::sync::Arc;
use std::time::{Duration, Instant};
use superstep_trace::{AccessGroup, ChunkBuilder};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Number of accesses written, counting each lane separately.
    pub thread_accesses: u64,
    /// Number of accesses reserved on the device but never written.
    pub lost: u64,
    /// Number of accesses written without the rest of their group.
    pub broken: u64,
    pub failure: Option<String>,
}

pub trait Sink: Send {
    /// Writes a chunk and empties it. Reports failures itself: the kernel can continue only if the bins are emptied.
    fn write(&mut self, ticket: &Ticket, chunk: &mut ChunkBuilder);

    /// Ends a launch that has been completely written.
    fn end(&mut self, ticket: &Arc<Ticket>, ending: Ending);
}

type Take = fn(&mut Bins, usize, &mut dyn FnMut(&[Record])) -> Taken;

/// How long the consumer polls without a pause after it has found records, since a full bin blocks the kernel.
const ALERT: Duration = Duration::from_micros(200);

pub const MIN_NAP: Duration = Duration::from_micros(5);
pub const MAX_NAP: Duration = Duration::from_micros(200);

/// Time without new records after which the available ones are written, even from partly filled bins, so that the
/// capture of a killed program shows how far it got.
pub const QUIET_AFTER: Duration = Duration::from_millis(200);

pub struct Consumer<S> {
    queue: Arc<Queue>,
    bins: Bins,
    builders: Vec<GroupBuilder>,
    chunk: ChunkBuilder,
    sink: S,
    ending: Ending,
}

impl<S: Sink> Consumer<S> {
    pub fn new(queue: Arc<Queue>, bins: Bins, sink: S) -> Self {
        let builders = (0..bins.shape.bins)
            .map(|_| GroupBuilder::default())
            .collect();
        let chunk = ChunkBuilder::new(superstep_trace::LaunchId(0));
        Consumer {
            queue,
            bins,
            builders,
            chunk,
            sink,
            ending: Ending::default(),
        }
    }

    /// Works until the queue is closed and empty.
    pub fn run(&mut self) {
        loop {
            match self.queue.front(Duration::from_millis(500)) {
                Some(ticket) => self.launch(&ticket),
                None if self.queue.is_closing() => return,
                None => {}
            }
        }
    }

    fn launch(&mut self, ticket: &Arc<Ticket>) {
        if ticket.phase() == Phase::Queued && !self.queue.is_closing() {
            return;
        }
        self.chunk.restart(ticket.active.launch.launch);
        self.while_running(ticket);
        match ticket.phase() {
            Phase::Finished => self.drain(ticket, &[Bins::take_quiet, Bins::salvage]),
            Phase::Faulted => self.drain(ticket, &[Bins::salvage]),
            // The program exits before the kernel has finished. Incomplete records are not taken.
            Phase::Queued | Phase::Running => {
                ticket.fail("the program ended before the kernel did".to_owned());
                self.drain(ticket, &[Bins::take_quiet])
            }
        };
        for builder in &mut self.builders {
            builder.flush(&mut |group| self.chunk.push(group));
            self.ending.broken += builder.take_broken_records();
        }
        self.write_chunk(ticket);
        self.ending.failure = ticket.failure();
        self.sink.end(ticket, std::mem::take(&mut self.ending));
        self.queue.pop(1);
        self.queue.done(1);
    }

    fn while_running(&mut self, ticket: &Ticket) {
        let mut nap = MIN_NAP;
        let mut last_move = Instant::now();
        let mut quiet_taken = false;
        while ticket.phase() == Phase::Running {
            if self.drain(ticket, &[Bins::take_full]) {
                self.queue.record_progress();
                (nap, last_move, quiet_taken) = (MIN_NAP, Instant::now(), false);
                continue;
            }
            if last_move.elapsed() < ALERT {
                std::hint::spin_loop();
                continue;
            }
            if self.queue.is_closing() {
                return;
            }
            if !quiet_taken && last_move.elapsed() > QUIET_AFTER {
                self.drain(ticket, &[Bins::take_quiet]);
                self.write_chunk(ticket);
                quiet_taken = true;
            }
            self.queue.nap(ticket, nap);
            nap = (nap * 2).min(MAX_NAP);
        }
    }

    /// Empties each bin with the first of `methods` that takes anything; returns whether anything was taken.
    fn drain(&mut self, ticket: &Ticket, methods: &[Take]) -> bool {
        let (mut any, mut lost) = (false, 0);
        for number in 0..self.bins.shape.bins {
            let (builder, chunk) = (&mut self.builders[number], &mut self.chunk);
            let (sink, ending) = (&mut self.sink, &mut self.ending);
            let mut push = |group: &AccessGroup| {
                chunk.push(group);
                if chunk.is_full() {
                    ending.thread_accesses += chunk.thread_accesses();
                    sink.write(ticket, chunk);
                }
            };
            let mut take = |records: &[Record]| builder.push(records, &mut push);
            for method in methods {
                let taken = method(&mut self.bins, number, &mut take);
                if taken != Taken::default() {
                    any = true;
                    lost += taken.missing;
                    break;
                }
            }
        }
        self.ending.lost += lost;
        any
    }

    fn write_chunk(&mut self, ticket: &Ticket) {
        self.ending.thread_accesses += self.chunk.thread_accesses();
        self.sink.write(ticket, &mut self.chunk);
    }
}
