//! Reading a large capture takes long: a [`Watch`] shows from outside how far it is, and ends it.

use crate::error::{Result, TraceError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a capture's reader looks at before each chunk. Clones watch the same reader.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    stop: Option<&'static AtomicBool>,
    read_bytes: Arc<AtomicU64>,
}

impl Watch {
    /// Ends the reading as soon as `stop` is set.
    pub fn until(stop: &'static AtomicBool) -> Self {
        Self {
            stop: Some(stop),
            ..Self::default()
        }
    }

    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// # Errors
    /// [`TraceError::Interrupted`] when the reading is to end.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() {
            return Err(TraceError::Interrupted);
        }
        Ok(())
    }

    /// Stored bytes of all chunks that were read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
