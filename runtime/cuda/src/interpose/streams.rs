//! Streams, which get their numbers when they are made.

use super::interposed;
use crate::cuda::ffi::{self, Stream};
use crate::recorder::runtime::runtime;
use std::ffi::{c_int, c_uint};

fn made(error: ffi::Error, stream: *mut Stream) -> ffi::Error {
    if error == ffi::SUCCESS && !stream.is_null() {
        // SAFETY: the runtime has just written the handle there.
        runtime().stream(unsafe { *stream }, false);
    }
    error
}

interposed! {
    [cudaStreamCreate](stream: *mut Stream) |real| { made(real(), stream) }
    [cudaStreamCreateWithFlags](stream: *mut Stream, flags: c_uint) |real| { made(real(), stream) }
    [cudaStreamCreateWithPriority](stream: *mut Stream, flags: c_uint, priority: c_int) |real| { made(real(), stream) }
    // Forgotten first: once the handle is destroyed, another thread may get it for a new stream.
    [cudaStreamDestroy](stream: Stream) |real| {
        if !stream.is_null() {
            runtime().stream_destroyed(stream);
        }
        real()
    }
}
