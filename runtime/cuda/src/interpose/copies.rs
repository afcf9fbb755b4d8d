//! Copies and fills by the host, through the runtime and driver APIs.

use super::{interposed, then};
use crate::cuda::device::symbol_address;
use crate::cuda::memory::is_on_device;
use crate::cuda::{Stream, StreamArgument};
use crate::recorder::host_access::{Rows, record_copy, record_driver_2d, record_fill};
use crate::recorder::runtime::session;
use cudarc::driver::sys::CUDA_MEMCPY2D_v2;
use cudarc::runtime::sys::{cudaExtent, cudaMemcpyKind, cudaPitchedPtr, cudaPos};
use std::ffi::{c_int, c_uint, c_void};
use superstep_runtime_core::cuda::Copy3d;
use superstep_trace::Gap;

const HOST_TO_HOST: c_int = cudaMemcpyKind::cudaMemcpyHostToHost as c_int;
const HOST_TO_DEVICE: c_int = cudaMemcpyKind::cudaMemcpyHostToDevice as c_int;
const DEVICE_TO_HOST: c_int = cudaMemcpyKind::cudaMemcpyDeviceToHost as c_int;
const DEVICE_TO_DEVICE: c_int = cudaMemcpyKind::cudaMemcpyDeviceToDevice as c_int;
const BY_ADDRESS: c_int = cudaMemcpyKind::cudaMemcpyDefault as c_int;

/// Records a copy of `size`: bytes, rows and slices. `kind` is a `cudaMemcpyKind` from any version of CUDA.
fn record_box(to: Rows, from: Rows, kind: c_int, size: [usize; 3], into: StreamArgument) {
    let on_device = || match kind {
        HOST_TO_HOST => [false, false],
        HOST_TO_DEVICE => [false, true],
        DEVICE_TO_HOST => [true, false],
        DEVICE_TO_DEVICE => [true, true],
        _ => [from, to].map(|side| is_on_device(side.address)),
    };
    record_copy(to, from, on_device, size, into);
}

fn record(to: u64, from: u64, bytes: usize, kind: c_int, into: StreamArgument) {
    let [to, from] = [to, from].map(|address| Rows::new(address, 0));
    record_box(to, from, kind, [bytes, 1, 1], into);
}

fn rows(address: *const c_void, row_bytes: usize) -> Rows {
    Rows::new(address as u64, row_bytes)
}

fn record_3d(copy: *const Copy3d, into: StreamArgument) {
    // SAFETY: the program passes the structure, and the runtime has accepted it.
    let Some(copy) = (unsafe { copy.as_ref() }) else {
        return;
    };
    if !copy.source_array.is_null() || !copy.destination_array.is_null() {
        return session().gap(Gap::ArrayCopy);
    }
    let side = |memory: &cudaPitchedPtr, at: &cudaPos| {
        let pitches = [memory.pitch, memory.ysize];
        Rows::within(memory.ptr as u64, [at.x, at.y, at.z], pitches)
    };
    let to = side(&copy.destination, &copy.destination_position);
    let from = side(&copy.source, &copy.source_position);
    let size = [copy.extent.width, copy.extent.height, copy.extent.depth];
    record_box(to, from, copy.kind, size, into);
}

/// Returns the device address of byte `offset` of a variable, or 0 if the variable is unknown to the runtime.
fn symbol(shadow: *const c_void, offset: usize) -> u64 {
    symbol_address(shadow).map_or(0, |address| address + offset as u64)
}

interposed! { in_stream:
    [cudaMemcpy, cudaMemcpy_ptds: true] [cudaMemcpyAsync, cudaMemcpyAsync_ptsz: true](
        to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int,
    ) |real, into| { then!(real, record(to as u64, from as u64, bytes, kind, into)) }

    [cudaMemcpy2D, cudaMemcpy2D_ptds: true] [cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz: true](
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int,
    ) |real, into| { then!(real, record_box(rows(to, to_pitch), rows(from, from_pitch), kind, [width, height, 1], into)) }

    [cudaMemcpy3D, cudaMemcpy3D_ptds: true] [cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz: true](copy: *const Copy3d)
    |real, into| { then!(real, record_3d(copy, into)) }

    [cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds: true] [cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz: true](
        shadow: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real, into| { then!(real, record(symbol(shadow, offset), from as u64, bytes, kind, into)) }

    [cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds: true] [cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz: true](
        to: *mut c_void, shadow: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real, into| { then!(real, record(to as u64, symbol(shadow, offset), bytes, kind, into)) }

    [cudaMemcpyPeer] [cudaMemcpyPeerAsync](
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize,
    ) |real, into| { then!(real, record(to as u64, from as u64, bytes, DEVICE_TO_DEVICE, into)) }
}

fn default_stream(per_thread: bool) -> StreamArgument {
    let handle = Stream::NULL;
    StreamArgument { handle, per_thread }
}

interposed! {
    // An array has no address, so its handle is used instead.
    [cudaMemcpyToArray, cudaMemcpyToArray_ptds: true](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int,
    ) |real, per_thread| { then!(real, record(array as u64, from as u64, bytes, kind, default_stream(per_thread))) }

    [cudaMemcpyFromArray, cudaMemcpyFromArray_ptds: true](
        to: *mut c_void, array: *const c_void, x: usize, y: usize, bytes: usize, kind: c_int,
    ) |real, per_thread| { then!(real, record(to as u64, array as u64, bytes, kind, default_stream(per_thread))) }

    [cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds: true](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, record_box(rows(array, width), rows(from, pitch), kind, [width, height, 1], default_stream(per_thread)))
    }
    [cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds: true](
        to: *mut c_void, pitch: usize, array: *const c_void, x: usize, y: usize, width: usize, height: usize, kind: c_int,
    ) |real, per_thread| {
        then!(real, record_box(rows(to, pitch), rows(array, width), kind, [width, height, 1], default_stream(per_thread)))
    }
}

fn record_2d(copy: *const CUDA_MEMCPY2D_v2, into: StreamArgument) {
    // SAFETY: the caller passes the structure, or null; the driver has accepted its memory types.
    if let Some(copy) = unsafe { copy.as_ref() } {
        record_driver_2d(copy, into);
    }
}

interposed! { driver in_stream:
    [cuMemcpy, cuMemcpy_ptds: true] [cuMemcpyAsync, cuMemcpyAsync_ptsz: true](to: u64, from: u64, bytes: usize)
    |real, into| { then!(real, record(to, from, bytes, BY_ADDRESS, into)) }

    [cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds: true] [cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz: true](
        to: u64, from: u64, bytes: usize,
    ) |real, into| { then!(real, record(to, from, bytes, HOST_TO_DEVICE, into)) }

    [cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds: true] [cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz: true](
        to: u64, from: u64, bytes: usize,
    ) |real, into| { then!(real, record(to, from, bytes, DEVICE_TO_HOST, into)) }

    [cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds: true] [cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz: true](
        to: u64, from: u64, bytes: usize,
    ) |real, into| { then!(real, record(to, from, bytes, DEVICE_TO_DEVICE, into)) }

    [cuMemcpy2D_v2, cuMemcpy2D_v2_ptds: true] [cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz: true](copy: *const CUDA_MEMCPY2D_v2)
    |real, into| { then!(real, record_2d(copy, into)) }
}

interposed! { driver:
    [cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds: true](copy: *const CUDA_MEMCPY2D_v2) |real, per_thread| {
        then!(real, record_2d(copy, default_stream(per_thread)))
    }
}

// The capture stores the value in one byte, which is all that the runtime's fill functions use.
interposed! { in_stream:
    [cudaMemset, cudaMemset_ptds: true] [cudaMemsetAsync, cudaMemsetAsync_ptsz: true](
        memory: *mut c_void, value: c_int, bytes: usize,
    ) |real, into| { then!(real, record_fill(rows(memory, 0), value as u8, [bytes, 1, 1], into)) }

    [cudaMemset2D, cudaMemset2D_ptds: true] [cudaMemset2DAsync, cudaMemset2DAsync_ptsz: true](
        memory: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize,
    ) |real, into| { then!(real, record_fill(rows(memory, pitch), value as u8, [width, height, 1], into)) }

    [cudaMemset3D, cudaMemset3D_ptds: true] [cudaMemset3DAsync, cudaMemset3DAsync_ptsz: true](
        memory: cudaPitchedPtr, value: c_int, extent: cudaExtent,
    ) |real, into| {
        let rows = Rows::within(memory.ptr as u64, [0; 3], [memory.pitch, memory.ysize]);
        then!(real, record_fill(rows, value as u8, [extent.width, extent.height, extent.depth], into))
    }
}

interposed! { driver in_stream:
    [cuMemsetD8_v2, cuMemsetD8_v2_ptds: true] [cuMemsetD8Async, cuMemsetD8Async_ptsz: true](to: u64, value: u8, count: usize)
    |real, into| { then!(real, record_fill(Rows::new(to, 0), value, [count, 1, 1], into)) }

    [cuMemsetD16_v2, cuMemsetD16_v2_ptds: true] [cuMemsetD16Async, cuMemsetD16Async_ptsz: true](to: u64, value: u16, count: usize)
    |real, into| { then!(real, record_fill(Rows::new(to, 0), value as u8, [2 * count, 1, 1], into)) }

    [cuMemsetD32_v2, cuMemsetD32_v2_ptds: true] [cuMemsetD32Async, cuMemsetD32Async_ptsz: true](to: u64, value: c_uint, count: usize)
    |real, into| { then!(real, record_fill(Rows::new(to, 0), value as u8, [4 * count, 1, 1], into)) }
}
