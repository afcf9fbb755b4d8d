//! Stream numbers in a capture.

use super::Session;
use std::sync::atomic::{AtomicU64, Ordering};
use superstep_trace::StreamId;

/// Returns the number of the calling host thread, counted from 1.
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    NUMBER.with(|number| *number)
}

impl Session {
    /// Returns the number of the stream with this handle. Handles 0 to 2 are [default streams](Self::default_stream).
    pub fn stream_id(&self, handle: u64) -> StreamId {
        let state = &mut *self.state.lock();
        *state.streams.entry(handle).or_insert_with(|| {
            state.next_stream += 1;
            StreamId(state.next_stream)
        })
    }

    /// Returns the number of a default stream: the legacy one or, with `per_thread`, the calling host thread's. Each
    /// device has its own default streams; `other_device` is the current device, or `None` for the first device.
    ///
    /// The legacy stream and the first per-thread default stream never run at the same time, so both are stream 0 of
    /// the first device. The default streams of other threads get separate numbers.
    pub fn default_stream(&self, other_device: Option<i32>, per_thread: bool) -> StreamId {
        // The runtime's stream handles are pointers, which never have these values.
        let device = other_device.map_or(0, |device| 1 << 62 | (device as u64 + 1) << 40);
        let thread = thread_number();
        let is_first = || {
            let first = &mut self.state.lock().first_thread;
            *first.get_or_insert(thread) == thread
        };
        if per_thread && !is_first() {
            self.stream_id(1 << 63 | device | thread)
        } else if device == 0 {
            StreamId(0)
        } else {
            self.stream_id(device)
        }
    }

    /// Forgets a destroyed stream's handle, which the runtime may reuse.
    pub fn stream_destroyed(&self, handle: u64) {
        self.state.lock().streams.remove(&handle);
    }
}
