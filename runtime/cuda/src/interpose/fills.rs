//! Fills that the host asks for.

use super::interposed;
use crate::ffi::{self, Extent, PitchedPointer, Stream};
use crate::runtime::runtime;
use std::ffi::{c_int, c_void};

/// Notes that `width` bytes of each of `rows` rows were set to `value`.
fn note(
    error: ffi::Error,
    first: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    rows: usize,
    stream: (Stream, bool),
) -> ffi::Error {
    let runtime = runtime();
    if error != ffi::SUCCESS || width == 0 {
        return error;
    }
    runtime.device();
    let stream = runtime.stream(stream.0, stream.1);
    let (width, rows) = if rows > 1 && pitch == width {
        (width * rows, 1)
    } else {
        (width, rows)
    };
    for row in 0..rows {
        // The runtime takes the value's low byte.
        runtime.session.memset(
            first as u64 + (row * pitch) as u64,
            width as u64,
            value as u8,
            stream,
        );
    }
    error
}

const DEFAULT: Stream = std::ptr::null_mut();

interposed! {
    [cudaMemset, cudaMemset_ptds: true](memory: *mut c_void, value: c_int, bytes: usize) |real, per_thread| {
        note(real(), memory, 0, value, bytes, 1, (DEFAULT, per_thread))
    }
    [cudaMemsetAsync, cudaMemsetAsync_ptsz: true](memory: *mut c_void, value: c_int, bytes: usize, stream: Stream)
    |real, per_thread| {
        note(real(), memory, 0, value, bytes, 1, (stream, per_thread))
    }
    [cudaMemset2D, cudaMemset2D_ptds: true](memory: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize)
    |real, per_thread| {
        note(real(), memory, pitch, value, width, height, (DEFAULT, per_thread))
    }
    [cudaMemset2DAsync, cudaMemset2DAsync_ptsz: true](
        memory: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: Stream,
    ) |real, per_thread| {
        note(real(), memory, pitch, value, width, height, (stream, per_thread))
    }
    [cudaMemset3D, cudaMemset3D_ptds: true](memory: PitchedPointer, value: c_int, extent: Extent) |real, per_thread| {
        note_3d(real(), memory, value, extent, (DEFAULT, per_thread))
    }
    [cudaMemset3DAsync, cudaMemset3DAsync_ptsz: true](
        memory: PitchedPointer, value: c_int, extent: Extent, stream: Stream,
    ) |real, per_thread| {
        note_3d(real(), memory, value, extent, (stream, per_thread))
    }
}

fn note_3d(
    error: ffi::Error,
    memory: PitchedPointer,
    value: c_int,
    extent: Extent,
    stream: (Stream, bool),
) -> ffi::Error {
    for slice in 0..extent.depth {
        let first = memory
            .pointer
            .cast::<u8>()
            .wrapping_add(slice * memory.y * memory.pitch_bytes)
            .cast();
        note(
            error,
            first,
            memory.pitch_bytes,
            value,
            extent.width,
            extent.height,
            stream,
        );
    }
    error
}
