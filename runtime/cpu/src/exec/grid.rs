//! Cooperative launches: all CTAs run at the same time, each on its own worker, and wait for each other at the grid's
//! barrier.
//!
//! CUDA's headers implement the barrier (`grid.sync()`): each CTA adds to a word, and polls it until its highest bit
//! has changed. This module provides the word, and lets workers sleep between polls.

use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Maximum time to sleep between polls, since CTAs may also be waiting for something else.
const MAX_SLEEP: Duration = Duration::from_millis(2);

/// `grid_workspace` in CUDA's `cooperative_groups/details/driver_abi.h`.
#[repr(C)]
#[derive(Debug)]
struct Workspace {
    bytes: u32,
    barrier: AtomicU32,
}

impl Default for Workspace {
    fn default() -> Self {
        Workspace {
            bytes: size_of::<Workspace>() as u32,
            barrier: AtomicU32::new(0),
        }
    }
}

#[derive(Debug, Default)]
pub struct Grid {
    workspace: Box<Workspace>,
    /// The barrier's highest bit when workers were last woken.
    phase: AtomicU32,
    sleepers: Mutex<()>,
    changed: Condvar,
}

impl Grid {
    /// Returns the addresses of the workspace's first byte and one past its last.
    pub fn range(&self) -> (u64, u64) {
        let first = (&raw const *self.workspace) as u64;
        (first, first + u64::from(self.workspace.bytes))
    }

    /// Wakes sleeping workers and returns `true` if the barrier has completed since the last call.
    pub fn announce(&self) -> bool {
        let phase = self.workspace.barrier.load(Ordering::Acquire) >> 31;
        if self.phase.load(Ordering::Relaxed) == phase {
            return false;
        }
        let sleepers = self.sleepers.lock();
        self.phase.store(phase, Ordering::Relaxed);
        drop(sleepers);
        self.changed.notify_all();
        true
    }

    /// Sleeps until the barrier completes, or for [`MAX_SLEEP`].
    pub fn wait(&self) {
        if self.announce() {
            return;
        }
        let mut sleepers = self.sleepers.lock();
        // Check again under the lock, so that no announcement is missed.
        if self.workspace.barrier.load(Ordering::Acquire) >> 31
            == self.phase.load(Ordering::Relaxed)
        {
            self.changed.wait_for(&mut sleepers, MAX_SLEEP);
        }
    }
}

#[cfg(test)]
mod tests;
