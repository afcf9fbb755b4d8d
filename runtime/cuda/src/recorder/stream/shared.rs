//! Rings that are emptied by multiple workers, so that no ring waits for a particular worker.
//!
//! A ring's pieces must reach the file in order, so a worker keeps a ring until it has written the groups it read.

use super::rings::{HostRing, Peek};
use super::wire::Reader;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const FREE: usize = usize::MAX;

pub struct Inside {
    pub host: HostRing,
    pub reader: Reader,
    pub serial: u64,
}

pub struct SharedRing {
    peek: Peek,
    keeper: AtomicUsize,
    inside: Mutex<Inside>,
}

impl SharedRing {
    pub fn all(rings: Vec<HostRing>) -> Arc<[SharedRing]> {
        let shared = |host: HostRing| SharedRing {
            peek: host.peek,
            keeper: AtomicUsize::new(FREE),
            inside: Mutex::new(Inside {
                reader: Reader::new(host.number),
                host,
                serial: 0,
            }),
        };
        rings.into_iter().map(shared).collect()
    }

    /// Returns whether the ring seems to have a piece for `worker`.
    pub fn has_piece_for(&self, worker: usize) -> bool {
        self.peek.has_piece() && [FREE, worker].contains(&self.keeper.load(Ordering::Relaxed))
    }

    /// Unless another worker keeps or is reading the ring, calls `read`, which returns whether `worker` keeps the ring.
    pub fn visit<T>(
        &self,
        worker: usize,
        read: impl FnOnce(&mut Inside) -> (T, bool),
    ) -> Option<T> {
        let mut inside = self.inside.try_lock()?;
        // Acquire: the last keeper has written its groups.
        if ![FREE, worker].contains(&self.keeper.load(Ordering::Acquire)) {
            return None;
        }
        // Set before `read`, which may panic: in that case, no other worker may continue.
        let old = self.keeper.swap(worker, Ordering::Relaxed);
        let (answer, keeps) = read(&mut inside);
        if !keeps {
            self.keeper.store(old, Ordering::Release);
        }
        Some(answer)
    }

    /// Frees the ring after its keeper has written its groups.
    pub fn release(&self) {
        self.keeper.store(FREE, Ordering::Release);
    }
}
