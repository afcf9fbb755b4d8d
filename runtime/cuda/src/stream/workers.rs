//! The threads that empty a stream's rings. Each has rings of its own, so that a ring's records stay in order.
//!
//! They make no CUDA call, for the reason given in `consumer`: a kernel may be waiting for them.

use super::rings::HostRing;
use super::settings::SinkChoice;
use super::wire::{Emit, Reader};
use crate::consumer::{Ending, Sink};
use crate::queue::{Phase, Queue, Ticket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use superstep_trace::{AccessGroup, ChunkBuilder, LaunchId, WARP_LANES};

/// How long a worker looks without a pause after it found something.
const ALERT: Duration = Duration::from_micros(100);
/// Its pauses then.
const NAP_SHORTEST: Duration = Duration::from_micros(5);
const NAP_LONGEST: Duration = Duration::from_micros(200);
/// How long encoded accesses may wait for more before they are written, so that a killed program's capture shows where it was.
const QUIET_AFTER: Duration = Duration::from_millis(200);
/// What the memory sink of one worker keeps.
const KEPT_BYTES: usize = 64 << 20;

/// What came over the bus, of all workers of the process.
#[derive(Default)]
pub struct Totals {
    /// Bytes.
    pub bytes: AtomicU64,
    /// Pieces.
    pub pieces: AtomicU64,
    /// Access groups.
    pub groups: AtomicU64,
    /// Accesses.
    pub accesses: AtomicU64,
}

/// Of this process.
pub static TOTALS: Totals = Totals {
    bytes: AtomicU64::new(0),
    pieces: AtomicU64::new(0),
    groups: AtomicU64::new(0),
    accesses: AtomicU64::new(0),
};

/// What the workers of one stream share.
pub struct Team {
    size: usize,
    arrived: Mutex<(usize, Ending)>,
}

impl Team {
    /// A team of `size` workers.
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Team {
            size,
            arrived: Mutex::default(),
        })
    }

    /// One worker is through with a launch; the last one gets what all of them found.
    fn arrive(&self, part: Ending) -> Option<Ending> {
        let mut arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.1.thread_accesses += part.thread_accesses;
        arrived.1.broken += part.broken;
        arrived.0 += 1;
        if arrived.0 < self.size {
            return None;
        }
        Some(std::mem::take(&mut *arrived).1)
    }
}

/// One worker.
pub struct Worker<S> {
    queue: Arc<Queue>,
    team: Arc<Team>,
    rings: Vec<(HostRing, Reader)>,
    choice: SinkChoice,
    sink: S,
    chunk: ChunkBuilder,
    kept: Vec<u8>,
    kept_at: usize,
    part: Ending,
}

/// Accesses of a piece, counted.
#[derive(Default)]
struct Count {
    lanes: u64,
    groups: u64,
}

impl Emit for Count {
    const ADDRESSES: bool = false;
    #[inline]
    fn lanes(&mut self, lanes: u32) {
        self.lanes += u64::from(lanes);
        self.groups += 1;
    }
    #[inline]
    fn full_groups(&mut self, groups: u64) {
        self.lanes += groups * WARP_LANES as u64;
        self.groups += groups;
    }
    fn group(&mut self, _group: &AccessGroup) {}
}

/// Accesses of a piece on their way into the capture.
struct Encode<'a, S> {
    count: Count,
    ticket: &'a Ticket,
    chunk: &'a mut ChunkBuilder,
    sink: &'a mut S,
}

impl<S: Sink> Emit for Encode<'_, S> {
    const ADDRESSES: bool = true;
    #[inline]
    fn lanes(&mut self, lanes: u32) {
        self.count.lanes(lanes);
    }
    #[inline]
    fn group(&mut self, group: &AccessGroup) {
        self.chunk.push(group);
        if self.chunk.is_full() {
            self.sink.write(self.ticket, self.chunk);
        }
    }
}

impl<S: Sink> Worker<S> {
    /// A worker of `team` that empties `rings`.
    pub fn new(
        queue: Arc<Queue>,
        team: Arc<Team>,
        rings: Vec<HostRing>,
        choice: SinkChoice,
        sink: S,
    ) -> Self {
        let with_reader = |ring: HostRing| {
            let reader = Reader::new(ring.number());
            (ring, reader)
        };
        Worker {
            queue,
            team,
            rings: rings.into_iter().map(with_reader).collect(),
            choice,
            sink,
            chunk: ChunkBuilder::new(LaunchId(0)),
            kept: Vec::new(),
            kept_at: 0,
            part: Ending::default(),
        }
    }

    /// Works until the queue is closed and empty.
    pub fn run(&mut self) {
        let mut served: Option<Arc<Ticket>> = None;
        loop {
            match self
                .queue
                .front_after(served.as_ref(), Duration::from_millis(500))
            {
                Some(ticket) if ticket.phase() != Phase::Queued || self.queue.is_closing() => {
                    self.launch(&ticket);
                    served = Some(ticket);
                }
                None if self.queue.is_closing() => return,
                _ => {}
            }
        }
    }

    /// This worker's part of a launch.
    fn launch(&mut self, ticket: &Arc<Ticket>) {
        self.chunk.restart(ticket.active.launch.launch);
        self.while_running(ticket);
        // The pieces of an ended launch have all been announced before the stream said so. A faulted one's are not complete,
        // and those of a running one (the program ends) may go on coming; what is there is taken.
        while self.look(ticket) {}
        if matches!(ticket.phase(), Phase::Queued | Phase::Running) {
            ticket.fail("the program ended before the kernel did".to_owned());
        }
        for (_, reader) in &mut self.rings {
            self.part.broken += reader.end().broken;
        }
        self.sink.write(ticket, &mut self.chunk);
        if let Some(mut ending) = self.team.arrive(std::mem::take(&mut self.part)) {
            ending.failure = ticket.failure();
            self.sink.end(ticket, ending);
            self.queue.pop();
        }
    }

    fn while_running(&mut self, ticket: &Ticket) {
        let mut nap = NAP_SHORTEST;
        let mut last_move = Instant::now();
        let mut written = false;
        while ticket.phase() == Phase::Running {
            if self.look(ticket) {
                self.queue.moved();
                (nap, last_move, written) = (NAP_SHORTEST, Instant::now(), false);
                continue;
            }
            if last_move.elapsed() < ALERT {
                std::hint::spin_loop();
                continue;
            }
            if self.queue.is_closing() {
                return;
            }
            if !written && last_move.elapsed() > QUIET_AFTER {
                self.sink.write(ticket, &mut self.chunk);
                written = true;
            }
            self.queue.nap(ticket, nap);
            nap = (nap * 2).min(NAP_LONGEST);
        }
    }

    /// Takes one piece of each ring that has one; whether there was any.
    fn look(&mut self, ticket: &Ticket) -> bool {
        let (mut bytes, mut pieces, mut count) = (0, 0, Count::default());
        for (ring, reader) in &mut self.rings {
            let part = &mut self.part;
            let taken = match self.choice {
                SinkChoice::Disk => ring.take(|number, piece| {
                    let mut encode = Encode {
                        count: std::mem::take(&mut count),
                        ticket,
                        chunk: &mut self.chunk,
                        sink: &mut self.sink,
                    };
                    part.broken += reader.piece(number, piece, &mut encode).broken;
                    count = encode.count;
                }),
                SinkChoice::Count => ring.take(|number, piece| {
                    part.broken += reader.piece(number, piece, &mut count).broken;
                }),
                SinkChoice::Memory => ring.take(|number, piece| {
                    keep(&mut self.kept, &mut self.kept_at, piece);
                    part.broken += reader.piece(number, piece, &mut count).broken;
                }),
            };
            if let Some(taken) = taken {
                bytes += taken as u64;
                pieces += 1;
            }
        }
        if pieces == 0 {
            return false;
        }
        self.part.thread_accesses += count.lanes;
        TOTALS.bytes.fetch_add(bytes, Ordering::Relaxed);
        TOTALS.pieces.fetch_add(pieces, Ordering::Relaxed);
        TOTALS.groups.fetch_add(count.groups, Ordering::Relaxed);
        TOTALS.accesses.fetch_add(count.lanes, Ordering::Relaxed);
        true
    }
}

/// Writes a piece over the oldest ones.
fn keep(kept: &mut Vec<u8>, at: &mut usize, piece: &[u8]) {
    if kept.len() < KEPT_BYTES {
        kept.extend_from_slice(piece);
        return;
    }
    if *at + piece.len() > kept.len() {
        *at = 0;
    }
    kept[*at..*at + piece.len()].copy_from_slice(piece);
    *at += piece.len();
}
