//! The threads that empty a stream's rings. While a kernel runs, each of them takes pieces from any ring.
//!
//! They make no CUDA calls, since a kernel may be waiting for them (see `thesis::consumer`).

use super::settings::Settings;
use super::shared::SharedRing;
use super::wire::Emit;
use crate::recorder::drain::queue::{Queue, Ticket};
use crate::recorder::thesis::consumer::{Ending, MAX_NAP, MIN_NAP, QUIET_AFTER, Sink};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use superstep_abi::RecordSink;
use superstep_trace::{AccessGroup, ChunkBuilder, LaunchId, Offsets, Transport, WARP_LANES};

/// How long a worker polls without a pause after it has found a piece.
const ALERT: Duration = Duration::from_micros(100);
/// Maximum number of launches that a worker takes from the queue at once.
const MAX_AT_ONCE: usize = 64;
/// How long a worker without a launch polls before it sleeps.
const AWAKE: Duration = Duration::from_millis(100);
/// How long encoded accesses may wait to be written while more arrive; [`QUIET_AFTER`] applies while none arrive.
const BUSY_AFTER: Duration = Duration::from_secs(1);
/// Number of bytes retained by a worker's memory sink.
const RETAINED_BYTES: usize = 64 << 20;

/// Totals of the data that the workers of all buffers have received.
pub static TOTALS: LazyLock<Mutex<Transport>> = LazyLock::new(Mutex::default);

pub struct Team {
    size: usize,
    arrived: Mutex<Arrived>,
}

/// Launches that only some workers have finished, oldest first, with the number of these workers and their totals.
#[derive(Default)]
struct Arrived {
    first_serial: u64,
    launches: VecDeque<(usize, Ending)>,
}

impl Team {
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Team {
            size,
            arrived: Mutex::default(),
        })
    }

    /// Records that a worker has finished launches, beginning with `serial`. Passes those that all workers have
    /// finished to `end` under the lock, so that they end in order. Each worker reports each launch once, in order.
    fn arrive<'a>(
        &self,
        serial: u64,
        parts: impl Iterator<Item = &'a Ending>,
        end: impl FnOnce(Vec<(u64, Ending)>),
    ) {
        let mut arrived = self.arrived.lock();
        let first = serial.saturating_sub(arrived.first_serial) as usize;
        for (index, part) in (first..).zip(parts) {
            while arrived.launches.len() <= index {
                arrived.launches.push_back(Default::default());
            }
            let (workers, ending) = &mut arrived.launches[index];
            ending.thread_accesses += part.thread_accesses;
            ending.broken += part.broken;
            *workers += 1;
        }
        let is_complete = |(workers, _): &&(usize, Ending)| *workers >= self.size;
        let number = arrived.launches.iter().take_while(is_complete).count();
        let first = arrived.first_serial;
        arrived.first_serial += number as u64;
        let complete = arrived.launches.drain(..number).map(|(_, ending)| ending);
        end((first..).zip(complete).collect());
    }
}

pub struct Worker<S> {
    queue: Arc<Queue>,
    team: Arc<Team>,
    number: usize,
    rings: Arc<[SharedRing]>,
    /// For each ring, whether this worker must check that nothing from the launch is left in it, because it owns the
    /// ring or has read pieces from it.
    must_check: Vec<bool>,
    /// Rings with groups that this worker has not written yet.
    kept_rings: Vec<usize>,
    next_ring: usize,
    settings: Settings,
    sink: S,
    chunk: ChunkBuilder,
    retained: VecDeque<u8>,
    part: Ending,
    serial: u64,
    unreported: Vec<(Arc<Ticket>, Ending)>,
    /// Time when this worker last found a piece.
    last_move: Instant,
    /// Duration of the worker's next sleep if it finds no piece.
    nap: Duration,
    /// Whether `run` is in progress; still set when `run` is called again after a panic.
    working: bool,
    /// Whether to drop pieces after a panic, so that no kernel waits forever.
    discard: bool,
    random: u64,
}

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

struct Encode<'a, S> {
    count: Count,
    ticket: &'a Ticket,
    chunk: &'a mut ChunkBuilder,
    sink: &'a mut S,
    /// Whether all groups of earlier pieces have been written.
    wrote: bool,
}

impl<S: Sink> Encode<'_, S> {
    #[inline]
    fn write_if_full(&mut self) {
        if self.chunk.is_full() {
            self.sink.write(self.ticket, self.chunk);
            self.wrote = true;
        }
    }
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
        self.write_if_full();
    }
    #[inline]
    fn near<const N: usize>(&mut self, group: &AccessGroup, base: u64, offsets: Offsets<'_, N>) {
        self.chunk.push_near(group, base, offsets);
        self.write_if_full();
    }
    #[inline(always)]
    fn run(&mut self, group: &AccessGroup, base: u64, stride: u64) {
        self.chunk.push_run(group, base, stride);
        self.write_if_full();
    }
}

impl<S: Sink> Worker<S> {
    pub fn new(
        queue: Arc<Queue>,
        team: Arc<Team>,
        number: usize,
        rings: Arc<[SharedRing]>,
        settings: Settings,
        sink: S,
    ) -> Self {
        Worker {
            queue,
            team,
            random: number as u64 + 1,
            number,
            must_check: vec![false; rings.len()],
            kept_rings: Vec::new(),
            next_ring: number,
            rings,
            settings,
            sink,
            chunk: ChunkBuilder::new(LaunchId(0)),
            retained: VecDeque::new(),
            part: Ending::default(),
            serial: 0,
            unreported: Vec::new(),
            last_move: Instant::now(),
            nap: MIN_NAP,
            working: false,
            discard: false,
        }
    }

    /// Works until the queue is closed and empty. After a panic, merely keeps the rings empty.
    pub fn run(&mut self) {
        if std::mem::replace(&mut self.working, true) {
            self.discard = true;
        }
        let mut busy = Instant::now();
        loop {
            // Takes many tickets at once so that the queue is rarely locked.
            let tickets = self.queue.from(self.serial, MAX_AT_ONCE);
            if !tickets.is_empty() {
                for ticket in &tickets {
                    self.launch(ticket);
                    self.serial += 1;
                }
                busy = Instant::now();
                continue;
            }
            self.report();
            if self.queue.is_closing() {
                break;
            } else if busy.elapsed() < AWAKE {
                // Polls, so that frequent launches need not wake threads.
                std::thread::sleep(MAX_NAP);
            } else {
                let patience = Duration::from_millis(500);
                self.queue.sleep_until(self.serial, patience);
            }
        }
        self.working = false;
    }

    fn launch(&mut self, ticket: &Arc<Ticket>) {
        self.chunk.restart(ticket.active.launch.launch);
        for (ring, must_check) in self.must_check.iter_mut().enumerate() {
            *must_check = ring % self.team.size == self.number;
        }
        self.while_running(ticket);
        // Takes the remaining pieces. They are complete if the launch has ended, but not if it faulted or the program
        // exits while it runs.
        while self.poll(ticket, false) {}
        self.write(ticket);
        self.wait_for_others(ticket);
        if !self.queue.is_over(ticket) {
            ticket.fail("the program ended before the kernel did".to_owned());
        }
        let part = std::mem::take(&mut self.part);
        self.unreported.push((ticket.clone(), part));
    }

    fn write(&mut self, ticket: &Ticket) {
        if !self.chunk.is_empty() && !self.discard {
            self.sink.write(ticket, &mut self.chunk);
        }
        for ring in self.kept_rings.drain(..) {
            self.rings[ring].release();
        }
    }

    /// Waits until nothing from an ended launch is left in the rings that this worker must check. A worker that waits
    /// here keeps no rings.
    fn wait_for_others(&mut self, ticket: &Ticket) {
        for ring in 0..self.rings.len() {
            while self.must_check[ring] {
                match self.take(ticket, ring, true) {
                    Some(Some(_)) => self.write(ticket),
                    Some(None) => break,
                    None => std::thread::yield_now(),
                }
            }
        }
    }

    /// Reports finished launches to the team, and ends those that all workers have finished.
    fn report(&mut self) {
        let parts = std::mem::take(&mut self.unreported);
        let Some((first, _)) = parts.first() else {
            return;
        };
        let first = first.serial;
        let endings = parts.iter().map(|(_, ending)| ending);
        let (queue, sink) = (&self.queue, &mut self.sink);
        self.team.arrive(first, endings, |complete| {
            let number = complete.len();
            queue.pop(number);
            for (serial, mut ending) in complete {
                // The last worker to finish a launch has its ticket.
                if let Some((ticket, _)) = parts.get(serial.saturating_sub(first) as usize) {
                    ending.failure = ticket.failure();
                    sink.end(ticket, ending);
                }
            }
            queue.done(number);
        });
    }

    fn while_running(&mut self, ticket: &Ticket) {
        if self.queue.is_over(ticket) {
            return;
        }
        self.report();
        let (mut written, mut last_write) = (false, Instant::now());
        while !self.queue.is_over(ticket) {
            if self.poll(ticket, !self.discard) {
                self.queue.record_progress();
                (self.nap, self.last_move, written) = (MIN_NAP, Instant::now(), false);
                if self.last_move - last_write > BUSY_AFTER {
                    self.write(ticket);
                    last_write = self.last_move;
                }
                continue;
            }
            if self.last_move.elapsed() < ALERT {
                std::hint::spin_loop();
                continue;
            }
            if self.queue.is_closing() {
                return;
            }
            if !written && self.last_move.elapsed() > QUIET_AFTER {
                self.write(ticket);
                written = true;
            }
            std::thread::sleep(self.nap);
            self.nap = (self.nap * 2).min(MAX_NAP);
        }
    }

    /// Sleeps for a random fraction of the configured pause.
    fn pause(&mut self) {
        let longest = self.settings.pause.as_micros() as u64;
        if longest > 0 {
            // Xorshift.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            std::thread::sleep(Duration::from_micros(self.random % longest));
        }
    }

    /// Takes pieces from the rings that this worker keeps. If they have none, takes one from a ring that it must check,
    /// or from any ring if `any`. Returns whether it took a piece.
    fn poll(&mut self, ticket: &Ticket, any: bool) -> bool {
        self.pause();
        let mut found = false;
        for index in 0..self.kept_rings.len() {
            // Writing releases rings.
            if let Some(&ring) = self.kept_rings.get(index) {
                found |= self.rings[ring].has_piece_for(self.number)
                    && matches!(self.take(ticket, ring, false), Some(Some(_)));
            }
        }
        if found {
            return true;
        }
        // Starts where the last search ended, so that no ring waits forever.
        for _ in 0..self.rings.len() {
            let ring = self.next_ring;
            self.next_ring = (ring + 1) % self.rings.len();
            if (any || self.must_check[ring])
                && self.rings[ring].has_piece_for(self.number)
                && matches!(self.take(ticket, ring, false), Some(Some(_)))
            {
                return true;
            }
        }
        false
    }

    /// Takes the next piece of this launch from a ring, if there is one; returns its size in bytes. The outer `Option`
    /// is `None` if another worker reads or keeps the ring. If the launch `has_ended`, an incomplete record that
    /// remains is an error.
    fn take(&mut self, ticket: &Ticket, ring: usize, has_ended: bool) -> Option<Option<usize>> {
        let (mut count, mut broken, mut wrote) = (Count::default(), 0, false);
        let keeps = self.settings.sink == RecordSink::Disk && !self.discard;
        let taken = self.rings[ring].visit(self.number, |inside| {
            let reader = &mut inside.reader;
            let is_first = inside.serial != self.serial;
            let taken = inside.host.take(self.serial, |number, piece| {
                if self.discard {
                    broken += 1;
                    return;
                }
                if is_first {
                    broken += reader.end();
                }
                if self.settings.sink == RecordSink::Memory {
                    let excess = (self.retained.len() + piece.len()).saturating_sub(RETAINED_BYTES);
                    self.retained.drain(..excess);
                    self.retained.extend(piece);
                }
                if !keeps {
                    broken += reader.piece(number, piece, &mut count);
                    return;
                }
                if !self.kept_rings.contains(&ring) {
                    self.kept_rings.push(ring);
                }
                let mut encode = Encode {
                    count: Count::default(),
                    ticket,
                    chunk: &mut self.chunk,
                    sink: &mut self.sink,
                    wrote: false,
                };
                broken += reader.piece(number, piece, &mut encode);
                (count, wrote) = (encode.count, encode.wrote);
            });
            if taken.is_some() {
                inside.serial = self.serial;
            } else if has_ended && !is_first {
                broken += inside.reader.end();
            }
            (taken, taken.is_some() && keeps)
        })?;
        if wrote {
            // All groups not yet written are from this ring.
            for other in std::mem::take(&mut self.kept_rings) {
                if other == ring {
                    self.kept_rings.push(ring);
                } else {
                    self.rings[other].release();
                }
            }
        }
        self.part.broken += broken;
        if let Some(bytes) = taken {
            self.must_check[ring] = true;
            self.part.thread_accesses += count.lanes;
            let mut totals = TOTALS.lock();
            totals.bytes += bytes as u64;
            totals.pieces += 1;
            totals.groups += count.groups;
            totals.accesses += count.lanes;
        }
        Some(taken)
    }
}
