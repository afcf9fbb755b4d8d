//! Cancellation and progress of long reads, for use from other threads.

use crate::error::{Result, TraceError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A flag that cancels work; the default flag is never set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cancellation(Option<&'static AtomicBool>);

impl Cancellation {
    pub fn by(flag: &'static AtomicBool) -> Self {
        Self(Some(flag))
    }

    #[inline]
    pub fn is_requested(self) -> bool {
        self.0.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub fn check(self) -> Result<()> {
        match self.is_requested() {
            true => Err(TraceError::Interrupted),
            false => Ok(()),
        }
    }
}

/// Progress of a capture's reader; clones refer to the same reader.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    read_bytes: Arc<AtomicU64>,
}

impl Progress {
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
