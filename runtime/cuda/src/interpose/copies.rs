//! Copies that the host asks for.

use super::interposed;
use crate::ffi::{self, Copy3d, Stream};
use crate::real;
use crate::runtime::runtime;
use std::ffi::{c_int, c_void};
use superstep_trace::{CopyDirection, Gap, StreamId};

/// `cudaPointerAttributes`, with room for later versions.
#[repr(C)]
struct PointerAttributes {
    kind: c_int,
    device: c_int,
    rest: [u64; 30],
}

/// Whether an address is device memory to the runtime. Managed memory counts, as it does for `cudaMemcpyDefault`.
fn is_on_device(address: u64) -> bool {
    static ENTRY: real::Entry = real::Entry::new(c"cudaPointerGetAttributes");
    let mut attributes = PointerAttributes {
        kind: 0,
        device: 0,
        rest: [0; 30],
    };
    let error = real::call!(
        ENTRY,
        (&mut attributes => *mut PointerAttributes, address as *const c_void => *const c_void) -> ffi::Error,
        ffi::SYMBOL_NOT_FOUND
    );
    error == ffi::SUCCESS && attributes.kind >= 2
}

fn direction(kind: c_int, to: u64, from: u64) -> CopyDirection {
    let (to_device, from_device) = match kind {
        ffi::HOST_TO_HOST => (false, false),
        ffi::HOST_TO_DEVICE => (true, false),
        ffi::DEVICE_TO_HOST => (false, true),
        ffi::DEVICE_TO_DEVICE => (true, true),
        _ => (is_on_device(to), is_on_device(from)),
    };
    match (to_device, from_device) {
        (false, false) => CopyDirection::HostToHost,
        (true, false) => CopyDirection::HostToDevice,
        (false, true) => CopyDirection::DeviceToHost,
        (true, true) => CopyDirection::DeviceToDevice,
    }
}

/// One side of a copy: first byte, and bytes from one row (slice) to the next.
#[derive(Clone, Copy)]
struct Side {
    address: u64,
    row_bytes: u64,
    slice_bytes: u64,
}

/// Notes a copy of `width` bytes x `height` rows x `depth` slices, as few pieces as it has.
fn note_box(to: Side, from: Side, kind: c_int, size: [u64; 3], stream: StreamId) {
    let runtime = runtime();
    runtime.device();
    let direction = direction(kind, to.address, from.address);
    // It copies when its graph runs, after kernels that do not stand in the capture yet.
    if direction == CopyDirection::DeviceToHost && runtime.graphs.is_capturing() {
        return;
    }
    let [mut width, mut height, mut depth] = size;
    if height > 1 && to.row_bytes == width && from.row_bytes == width {
        (width, height) = (width * height, 1);
    }
    if height == 1 && depth > 1 && to.slice_bytes == width && from.slice_bytes == width {
        (width, depth) = (width * depth, 1);
    }
    for slice in 0..depth {
        for row in 0..height {
            let at = |side: Side| side.address + slice * side.slice_bytes + row * side.row_bytes;
            if width > 0 {
                runtime
                    .session
                    .copy(direction, at(to), at(from), width, stream);
            }
        }
    }
}

fn note(to: *const c_void, from: *const c_void, bytes: usize, kind: c_int, stream: StreamId) {
    let side = |address: *const c_void| Side {
        address: address as u64,
        row_bytes: 0,
        slice_bytes: 0,
    };
    note_box(side(to), side(from), kind, [bytes as u64, 1, 1], stream);
}

fn note_2d(
    to: (*const c_void, usize),
    from: (*const c_void, usize),
    size: (usize, usize),
    kind: c_int,
    stream: StreamId,
) {
    let side = |(address, pitch): (*const c_void, usize)| Side {
        address: address as u64,
        row_bytes: pitch as u64,
        slice_bytes: 0,
    };
    note_box(
        side(to),
        side(from),
        kind,
        [size.0 as u64, size.1 as u64, 1],
        stream,
    );
}

fn note_3d(copy: *const Copy3d, stream: StreamId) {
    if copy.is_null() {
        return;
    }
    // SAFETY: the program gives the structure, and the runtime has accepted it.
    let copy = unsafe { &*copy };
    if !copy.source_array.is_null() || !copy.destination_array.is_null() {
        return runtime().session.gap(Gap::ArrayCopy);
    }
    let side = |memory: &ffi::PitchedPointer, position: &ffi::Position| {
        let (row_bytes, slice_bytes) = (
            memory.pitch_bytes as u64,
            (memory.pitch_bytes * memory.y) as u64,
        );
        let offset =
            position.x as u64 + position.y as u64 * row_bytes + position.z as u64 * slice_bytes;
        Side {
            address: memory.pointer as u64 + offset,
            row_bytes,
            slice_bytes,
        }
    };
    let size = [
        copy.extent.width as u64,
        copy.extent.height as u64,
        copy.extent.depth as u64,
    ];
    let (to, from) = (
        side(&copy.destination, &copy.destination_position),
        side(&copy.source, &copy.source_position),
    );
    note_box(to, from, copy.kind, size, stream);
}

/// The device's address of byte `offset` of a variable; 0 when the runtime does not know it.
fn symbol(shadow: *const c_void, offset: usize) -> *const c_void {
    let mut address = std::ptr::null_mut();
    // SAFETY: the pointer leads to a pointer; the real copy has just accepted the shadow.
    let error = unsafe { real::symbol_address(&mut address, shadow) };
    if error == ffi::SUCCESS {
        address
            .cast::<u8>()
            .wrapping_add(offset)
            .cast_const()
            .cast()
    } else {
        std::ptr::null()
    }
}

fn on(stream: Stream, per_thread: bool) -> StreamId {
    runtime().stream(stream, per_thread)
}

const DEFAULT: Stream = std::ptr::null_mut();

/// Runs the real call, and the block if it succeeds.
macro_rules! then {
    ($real:ident, $note:expr) => {{
        let error = $real();
        if error == ffi::SUCCESS {
            $note;
        }
        error
    }};
}

interposed! {
    [cudaMemcpy, cudaMemcpy_ptds: true](to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int)
    |real, per_thread| { then!(real, note(to, from, bytes, kind, on(DEFAULT, per_thread))) }

    [cudaMemcpyAsync, cudaMemcpyAsync_ptsz: true](
        to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: Stream,
    ) |real, per_thread| { then!(real, note(to, from, bytes, kind, on(stream, per_thread))) }

    [cudaMemcpy2D, cudaMemcpy2D_ptds: true](
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, note_2d((to, to_pitch), (from, from_pitch), (width, height), kind, on(DEFAULT, per_thread)))
    }
    [cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz: true](
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int,
        stream: Stream,
    ) |real, per_thread| {
        then!(real, note_2d((to, to_pitch), (from, from_pitch), (width, height), kind, on(stream, per_thread)))
    }
    [cudaMemcpy3D, cudaMemcpy3D_ptds: true](copy: *const Copy3d) |real, per_thread| {
        then!(real, note_3d(copy, on(DEFAULT, per_thread)))
    }
    [cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz: true](copy: *const Copy3d, stream: Stream) |real, per_thread| {
        then!(real, note_3d(copy, on(stream, per_thread)))
    }
    [cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds: true](
        shadow: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, note(symbol(shadow, offset), from, bytes, kind, on(DEFAULT, per_thread)))
    }
    [cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz: true](
        shadow: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int, stream: Stream,
    ) |real, per_thread| {
        then!(real, note(symbol(shadow, offset), from, bytes, kind, on(stream, per_thread)))
    }
    [cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds: true](
        to: *mut c_void, shadow: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, note(to, symbol(shadow, offset), bytes, kind, on(DEFAULT, per_thread)))
    }
    [cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz: true](
        to: *mut c_void, shadow: *const c_void, bytes: usize, offset: usize, kind: c_int, stream: Stream,
    ) |real, per_thread| {
        then!(real, note(to, symbol(shadow, offset), bytes, kind, on(stream, per_thread)))
    }
    // An array has no address of its own: its handle stands for it.
    [cudaMemcpyToArray, cudaMemcpyToArray_ptds: true](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int,
    ) |real, per_thread| { then!(real, note(array, from, bytes, kind, on(DEFAULT, per_thread))) }

    [cudaMemcpyFromArray, cudaMemcpyFromArray_ptds: true](
        to: *mut c_void, array: *const c_void, x: usize, y: usize, bytes: usize, kind: c_int,
    ) |real, per_thread| { then!(real, note(to, array, bytes, kind, on(DEFAULT, per_thread))) }

    [cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds: true](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, note_2d((array, width), (from, pitch), (width, height), kind, on(DEFAULT, per_thread)))
    }
    [cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds: true](
        to: *mut c_void, pitch: usize, array: *const c_void, x: usize, y: usize, width: usize, height: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, note_2d((to, pitch), (array, width), (width, height), kind, on(DEFAULT, per_thread)))
    }
    [cudaMemcpyPeer](to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize)
    |real, per_thread| { then!(real, note(to, from, bytes, ffi::DEVICE_TO_DEVICE, on(DEFAULT, per_thread))) }

    [cudaMemcpyPeerAsync](
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize, stream: Stream,
    ) |real, per_thread| { then!(real, note(to, from, bytes, ffi::DEVICE_TO_DEVICE, on(stream, per_thread))) }
}
