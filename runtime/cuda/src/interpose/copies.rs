//! Copies that the host asks for.

use super::{At, interposed};
use crate::cuda::ffi::{self, Copy3d};
use crate::cuda::real;
use crate::recorder::runtime::runtime;
use std::ffi::{c_int, c_void};
use superstep_trace::{CopyDirection, Gap};

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
    superstep_runtime_core::cuda::direction(from_device, to_device)
}

/// One side of a copy: first byte, and bytes from one row (slice) to the next.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) address: u64,
    pub(super) row_bytes: u64,
    pub(super) slice_bytes: u64,
}

/// Notes a copy of `width` bytes x `height` rows x `depth` slices, as few pieces as it has.
pub(super) fn note_box(
    to: Side,
    from: Side,
    kind: c_int,
    size: [usize; 3],
    (stream, per_thread): At,
) {
    let runtime = runtime();
    let into = (stream, per_thread);
    runtime.device();
    // Each launch of its graph notes it.
    if runtime.graphs.comes_later(into) {
        return;
    }
    let stream = runtime.stream(stream, per_thread);
    let direction = direction(kind, to.address, from.address);
    let [mut width, mut height, mut depth] = size.map(|extent| extent as u64);
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
                (runtime.session).copy(direction, at(to), at(from), width, stream);
                (runtime.in_situ).host_wrote(runtime, at(to), width, into);
            }
        }
    }
}

pub(super) fn note(to: *const c_void, from: *const c_void, bytes: usize, kind: c_int, at: At) {
    note_box(rows(to, 0), rows(from, 0), kind, [bytes, 1, 1], at);
}

/// Memory whose rows lie `row_bytes` apart.
fn rows(address: *const c_void, row_bytes: usize) -> Side {
    Side {
        address: address as u64,
        row_bytes: row_bytes as u64,
        slice_bytes: 0,
    }
}

fn note_3d(copy: *const Copy3d, at: At) {
    // SAFETY: the program gives the structure, and the runtime has accepted it.
    let Some(copy) = (unsafe { copy.as_ref() }) else {
        return;
    };
    if !copy.source_array.is_null() || !copy.destination_array.is_null() {
        return runtime().session.gap(Gap::ArrayCopy);
    }
    let side = |memory: &ffi::PitchedPointer, position: &ffi::Position| {
        let row_bytes = memory.pitch as u64;
        let slice_bytes = row_bytes * memory.height as u64;
        let offset =
            position.x as u64 + position.y as u64 * row_bytes + position.z as u64 * slice_bytes;
        Side {
            address: memory.pointer as u64 + offset,
            row_bytes,
            slice_bytes,
        }
    };
    let to = side(&copy.destination, &copy.destination_position);
    let from = side(&copy.source, &copy.source_position);
    let size = [copy.extent.width, copy.extent.height, copy.extent.depth];
    note_box(to, from, copy.kind, size, at);
}

/// The device's address of byte `offset` of a variable; 0 when the runtime does not know it.
fn symbol(shadow: *const c_void, offset: usize) -> *const c_void {
    let mut address = std::ptr::null_mut();
    // SAFETY: the pointer leads to a pointer; the real copy has just accepted the shadow.
    match unsafe { real::symbol_address(&mut address, shadow) } {
        ffi::SUCCESS => address.wrapping_byte_add(offset),
        _ => std::ptr::null(),
    }
}

/// Runs the real call, and notes what it did if it succeeds.
macro_rules! then {
    ($real:ident, $note:expr) => {{
        let error = $real();
        if error == ffi::SUCCESS {
            $note;
        }
        error
    }};
}

interposed! { in_stream:
    [cudaMemcpy, cudaMemcpy_ptds: true] [cudaMemcpyAsync, cudaMemcpyAsync_ptsz: true](
        to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int,
    ) |real, at| { then!(real, note(to, from, bytes, kind, at)) }

    [cudaMemcpy2D, cudaMemcpy2D_ptds: true] [cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz: true](
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int,
    ) |real, at| { then!(real, note_box(rows(to, to_pitch), rows(from, from_pitch), kind, [width, height, 1], at)) }

    [cudaMemcpy3D, cudaMemcpy3D_ptds: true] [cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz: true](copy: *const Copy3d)
    |real, at| { then!(real, note_3d(copy, at)) }

    [cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds: true] [cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz: true](
        shadow: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real, at| { then!(real, note(symbol(shadow, offset), from, bytes, kind, at)) }

    [cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds: true] [cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz: true](
        to: *mut c_void, shadow: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real, at| { then!(real, note(to, symbol(shadow, offset), bytes, kind, at)) }

    [cudaMemcpyPeer] [cudaMemcpyPeerAsync](
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize,
    ) |real, at| { then!(real, note(to, from, bytes, ffi::DEVICE_TO_DEVICE, at)) }
}

/// The default stream.
const DEFAULT: ffi::Stream = std::ptr::null_mut();

interposed! {
    // An array has no address of its own: its handle stands for it.
    [cudaMemcpyToArray, cudaMemcpyToArray_ptds: true](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int,
    ) |real, per_thread| { then!(real, note(array, from, bytes, kind, (DEFAULT, per_thread))) }

    [cudaMemcpyFromArray, cudaMemcpyFromArray_ptds: true](
        to: *mut c_void, array: *const c_void, x: usize, y: usize, bytes: usize, kind: c_int,
    ) |real, per_thread| { then!(real, note(to, array, bytes, kind, (DEFAULT, per_thread))) }

    [cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds: true](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, note_box(rows(array, width), rows(from, pitch), kind, [width, height, 1], (DEFAULT, per_thread)))
    }
    [cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds: true](
        to: *mut c_void, pitch: usize, array: *const c_void, x: usize, y: usize, width: usize, height: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, note_box(rows(to, pitch), rows(array, width), kind, [width, height, 1], (DEFAULT, per_thread)))
    }
}
