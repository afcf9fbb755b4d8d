//! Fills that the host asks for.

use super::{At, interposed};
use crate::cuda::ffi::{self, Extent, MemsetParameters, PitchedPointer};
use crate::recorder::runtime::runtime;
use std::ffi::{c_int, c_void};

/// Notes that `width` bytes of each of the rows of each of the slices were set to `value`.
pub(super) fn note(
    error: ffi::Error,
    memory: PitchedPointer,
    value: c_int,
    extent: Extent,
    at: At,
) -> ffi::Error {
    let runtime = runtime();
    let (mut width, mut rows) = (extent.width, extent.height);
    if error != ffi::SUCCESS || width == 0 || extent.depth == 0 {
        return error;
    }
    runtime.device();
    if runtime.graphs.comes_later(at) {
        return error;
    }
    let (stream, per_thread) = at;
    let stream = runtime.stream(stream, per_thread);
    if rows > 1 && memory.pitch == width {
        (width, rows) = (width * rows, 1);
    }
    for slice in 0..extent.depth {
        for row in 0..rows {
            let first = (slice * memory.height + row) * memory.pitch;
            let address = memory.pointer as u64 + first as u64;
            // The runtime takes the value's low byte.
            (runtime.session).memset(address, width as u64, value as u8, stream);
            (runtime.in_situ).host_wrote(runtime, address, width as u64, at);
        }
    }
    error
}

/// The same of a node of a CUDA graph.
pub fn note_node(error: ffi::Error, fill: &MemsetParameters, at: At) -> ffi::Error {
    let size = extent(fill.width * fill.element_bytes as usize, fill.height);
    note(
        error,
        rows(fill.to, fill.pitch),
        fill.value as c_int,
        size,
        at,
    )
}

/// Rows that lie `pitch` apart.
pub(super) fn rows(pointer: *mut c_void, pitch: usize) -> PitchedPointer {
    PitchedPointer {
        pointer,
        pitch,
        width: 0,
        height: 0,
    }
}

pub(super) fn extent(width: usize, height: usize) -> Extent {
    Extent {
        width,
        height,
        depth: 1,
    }
}

interposed! { in_stream:
    [cudaMemset, cudaMemset_ptds: true] [cudaMemsetAsync, cudaMemsetAsync_ptsz: true](
        memory: *mut c_void, value: c_int, bytes: usize,
    ) |real, at| { note(real(), rows(memory, 0), value, extent(bytes, 1), at) }

    [cudaMemset2D, cudaMemset2D_ptds: true] [cudaMemset2DAsync, cudaMemset2DAsync_ptsz: true](
        memory: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize,
    ) |real, at| { note(real(), rows(memory, pitch), value, extent(width, height), at) }

    [cudaMemset3D, cudaMemset3D_ptds: true] [cudaMemset3DAsync, cudaMemset3DAsync_ptsz: true](
        memory: PitchedPointer, value: c_int, extent: Extent,
    ) |real, at| { note(real(), memory, value, extent, at) }
}
