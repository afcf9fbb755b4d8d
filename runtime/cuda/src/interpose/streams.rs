//! Interposed functions that create and destroy streams. A stream gets its number when it is created.

use super::{interposed, stored};
use crate::cuda::{Status, Stream, StreamArgument};
use crate::recorder::runtime::runtime;
use std::ffi::{c_int, c_uint};

fn record_stream(status: Status, stream: *mut Stream) -> Status {
    if let Some(handle) = stored(status, stream) {
        let per_thread = false;
        runtime().stream(StreamArgument { handle, per_thread });
    }
    status
}

interposed! {
    [cudaStreamCreate](stream: *mut Stream) |real| { record_stream(real(), stream) }
    [cudaStreamCreateWithFlags](stream: *mut Stream, flags: c_uint) |real| { record_stream(real(), stream) }
    [cudaStreamCreateWithPriority](stream: *mut Stream, flags: c_uint, priority: c_int) |real| { record_stream(real(), stream) }
    // Forgets the stream first, because once it is destroyed, another thread may get the same handle for a new stream.
    [cudaStreamDestroy](stream: Stream) |real| {
        if !stream.is_null() {
            runtime().stream_destroyed(stream);
        }
        real()
    }
}
