//! Additions to the table of transfers for which the device has no room. Kernels append them to a ring in page-locked
//! memory, and wait while it is full; a thread empties it without calling CUDA.

use super::layout::{ADDED_COUNT_SHIFT, ADDED_MASK, Addition, Context, Transfer};
use super::{BATCH_ROWS, DRAIN_INTERVAL, sums};
use crate::cuda::CudaError;
use crate::cuda::memory::{Pinned, device_words};
use crate::recorder::RecordError;
use crate::recorder::drain::signals;
use crate::recorder::runtime::session;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use superstep_trace::Parts;

const PLACES: usize = 1 << 20;
/// Number of additions after which their places are given back to the device.
const TAKEN_AT_ONCE: u64 = 1 << 12;
const POLL_INTERVAL: Duration = Duration::from_millis(1);

pub struct Additions {
    ring: Pinned,
    mask: u64,
    taken: Pinned,
    state: Mutex<State>,
}

struct State {
    taken: u64,
    /// By source and receiver.
    rows: HashMap<[u64; 2], Transfer>,
    written: Instant,
    is_ended: bool,
}

impl Additions {
    /// Allocates the ring and adds it to the context.
    pub fn new(context: &mut Context) -> Result<Arc<Self>, CudaError> {
        let ring = Pinned::new(PLACES * size_of::<Addition>())?;
        let taken = Pinned::new(size_of::<u64>())?;
        context.additions = ring.device;
        context.addition_mask = PLACES as u64 - 1;
        context.added = device_words(&[0])?;
        context.taken = taken.device;
        Ok(Arc::new(Self::from_memory(ring, PLACES, taken)))
    }

    fn from_memory(ring: Pinned, places: usize, taken: Pinned) -> Self {
        Additions {
            ring,
            mask: places as u64 - 1,
            taken,
            state: Mutex::new(State {
                taken: 0,
                rows: HashMap::new(),
                written: Instant::now(),
                is_ended: false,
            }),
        }
    }

    /// Starts the thread that empties the ring while kernels run.
    pub fn start(self: &Arc<Self>) -> Result<(), RecordError> {
        let additions = self.clone();
        std::thread::Builder::new()
            .name("superstep-in-situ".to_owned())
            .spawn(move || {
                signals::block();
                while !additions.state.lock().is_ended {
                    if !additions.take() {
                        std::thread::sleep(POLL_INTERVAL);
                    }
                    if let Some(parts) = additions.due() {
                        session().parts(parts);
                    }
                }
            })?;
        Ok(())
    }

    /// Takes all complete additions from the ring; returns whether there were any.
    pub fn take(&self) -> bool {
        let state = &mut *self.state.lock();
        let start = state.taken;
        if state.is_ended {
            return false;
        }
        while let Some((key, added)) = self.take_from(state.taken & self.mask) {
            let row = state.rows.entry(key).or_insert(Transfer {
                source: key[0],
                receiver: key[1],
                ..Transfer::default()
            });
            row.bytes += added.bytes;
            row.count += added.count;
            row.stored += added.stored;
            state.taken += 1;
            if state.taken.is_multiple_of(TAKEN_AT_ONCE) {
                self.give_back(state.taken);
            }
        }
        self.give_back(state.taken);
        state.taken != start
    }

    /// Ends the use of the ring, whose memory is about to be freed.
    pub fn end(&self) {
        self.state.lock().is_ended = true;
    }

    /// Returns what has been taken and not yet written, as parts of the capture.
    pub fn rest(&self) -> Parts {
        let state = &mut *self.state.lock();
        state.written = Instant::now();
        let rows: Vec<_> = state.rows.drain().map(|(_, row)| row).collect();
        sums::parts(&rows)
    }

    /// Returns the same as [`Self::rest`] if there are many rows or if they are old.
    fn due(&self) -> Option<Parts> {
        let is_due = {
            let state = self.state.lock();
            let is_old = state.written.elapsed() >= DRAIN_INTERVAL;
            state.rows.len() >= BATCH_ROWS || is_old && !state.rows.is_empty()
        };
        is_due.then(|| self.rest())
    }

    /// Takes and clears the addition in a place; returns its source and receiver, and its numbers.
    fn take_from(&self, place: u64) -> Option<([u64; 2], Transfer)> {
        // SAFETY: the ring has `mask + 1` places, and `mask` was applied to the number. The memory is valid until `end`,
        // after which `take` returns early; the lock on the state keeps the two apart.
        let place = unsafe { &*self.ring.at::<Addition>().add(place as usize) };
        // The device stores both words, in any order, and nothing else.
        let words = [&place.source, &place.receiver];
        let [source, receiver] = words.map(|word| word.load(Ordering::Relaxed));
        if source == 0 || receiver == 0 {
            return None;
        }
        for word in words {
            word.store(0, Ordering::Relaxed);
        }
        let added = receiver & ADDED_MASK;
        let numbers = Transfer {
            bytes: source & ADDED_MASK,
            count: added >> ADDED_COUNT_SHIFT,
            stored: added & ((1 << ADDED_COUNT_SHIFT) - 1),
            ..Transfer::default()
        };
        Some(([source & !ADDED_MASK, receiver & !ADDED_MASK], numbers))
    }

    /// Lets the device use the places of the first `taken` additions again.
    fn give_back(&self, taken: u64) {
        // SAFETY: the memory is a word, which the device only reads. It is valid for as long as the ring.
        let word = unsafe { &*self.taken.at::<AtomicU64>() };
        // Release: the places have been cleared.
        word.store(taken, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
