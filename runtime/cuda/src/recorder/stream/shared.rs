//! Rings that several workers empty.
//!
//! A ring's pieces must reach the file in order. So the worker that reads one keeps the ring until it has written the groups that it
//! has of it; then any other may read the next piece. The rings of a kernel with few CTAs, and those of a worker that is held up,
//! do not wait for one worker.

use super::rings::{HostRing, Peek};
use super::wire::Reader;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const FREE: usize = usize::MAX;

/// A ring, and how far it is read.
pub struct Inside {
    pub host: HostRing,
    pub reader: Reader,
    /// The launch of the piece that was read last.
    pub serial: u64,
}

pub struct SharedRing {
    peek: Peek,
    keeper: AtomicUsize,
    inside: Mutex<Inside>,
}

impl SharedRing {
    /// All of them, as the workers of a team have them.
    pub fn all(rings: Vec<HostRing>) -> Arc<[SharedRing]> {
        let shared = |host: HostRing| SharedRing {
            peek: host.peek(),
            keeper: AtomicUsize::new(FREE),
            inside: Mutex::new(Inside {
                reader: Reader::new(host.number()),
                host,
                serial: 0,
            }),
        };
        rings.into_iter().map(shared).collect()
    }

    /// Whether it seems to have a piece that `worker` may read.
    pub fn has_piece_for(&self, worker: usize) -> bool {
        self.peek.has_piece() && [FREE, worker].contains(&self.keeper.load(Ordering::Relaxed))
    }

    /// Lets `worker` read the ring, unless another one keeps it or reads it; `read` returns whether to keep it.
    pub fn visit<T>(
        &self,
        worker: usize,
        read: impl FnOnce(&mut Inside) -> (T, bool),
    ) -> Option<T> {
        let mut inside = self.inside.try_lock()?;
        // Acquire: what the last keeper had of it is written.
        if ![FREE, worker].contains(&self.keeper.load(Ordering::Acquire)) {
            return None;
        }
        // Before `read`, which may panic: no other worker may go on where this one was.
        let old = self.keeper.swap(worker, Ordering::Relaxed);
        let (answer, keeps) = read(&mut inside);
        if !keeps {
            self.keeper.store(old, Ordering::Release);
        }
        Some(answer)
    }

    /// Everything that its keeper had of it is written.
    pub fn release(&self) {
        self.keeper.store(FREE, Ordering::Release);
    }
}
