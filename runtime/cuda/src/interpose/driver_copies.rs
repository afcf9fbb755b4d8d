//! Copies and fills through the driver's own interface: closed libraries make theirs so.

use super::copies::{Side, note, note_box};
use super::driver::NOT_INITIALIZED;
use super::{At, fills, interposed};
use crate::cuda::ffi::{self, Error, Stream};
use std::ffi::{c_int, c_uint, c_void};

/// `cudaMemcpyDefault`.
const BY_ADDRESS: c_int = 4;

fn copied(error: Error, to: u64, from: u64, bytes: usize, kind: c_int, at: At) -> Error {
    if error == ffi::SUCCESS && bytes > 0 {
        note(to as *const c_void, from as *const c_void, bytes, kind, at);
    }
    error
}

/// `count` elements of `T`. The capture has one byte for the value, as for the runtime's fills.
fn filled<T>(error: Error, to: u64, value: c_uint, count: usize, at: At) -> Error {
    let bytes = count * size_of::<T>();
    let memory = fills::rows(to as *mut c_void, 0);
    fills::note(error, memory, value as c_int, fills::extent(bytes, 1), at)
}

/// One side of a `CUDA_MEMCPY2D`.
#[repr(C)]
pub struct Side2d {
    x_bytes: usize,
    y: usize,
    /// `CUmemorytype`.
    memory: c_uint,
    host: *const c_void,
    device: u64,
    array: *mut c_void,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
pub struct Copy2d {
    from: Side2d,
    to: Side2d,
    width_bytes: usize,
    height: usize,
}

/// One side of a `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3d {
    x_bytes: usize,
    y: usize,
    z: usize,
    level: usize,
    /// `CUmemorytype`.
    memory: c_uint,
    host: *const c_void,
    device: u64,
    array: *mut c_void,
    reserved: *mut c_void,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3d {
    from: Side3d,
    to: Side3d,
    width_bytes: usize,
    height: usize,
    depth: usize,
}

const _: () = assert!(size_of::<Copy3d>() == 200);

impl Side3d {
    /// `None` where it is an array.
    fn side(&self) -> Option<Side> {
        let slice_bytes = (self.height * self.pitch) as u64;
        let first = first_byte(self.memory, self.host, self.device)?;
        Some(Side {
            address: first
                + self.z as u64 * slice_bytes
                + (self.y * self.pitch + self.x_bytes) as u64,
            row_bytes: self.pitch as u64,
            slice_bytes,
        })
    }
}

/// The address where a side of a copy begins; `None` where it is an array.
fn first_byte(memory: c_uint, host: *const c_void, device: u64) -> Option<u64> {
    const HOST: c_uint = 1;
    const ARRAY: c_uint = 3;
    match memory {
        HOST => Some(host as u64),
        ARRAY => None,
        _ => Some(device),
    }
}

/// Notes a copy of boxes that was put into a stream.
pub fn note_3d(copy: &Copy3d, at: At) {
    match (copy.to.side(), copy.from.side()) {
        (Some(to), Some(from)) => {
            let size = [copy.width_bytes, copy.height, copy.depth];
            note_box(to, from, BY_ADDRESS, size, at);
        }
        _ => (crate::recorder::runtime::runtime().session).gap(superstep_trace::Gap::ArrayCopy),
    }
}

impl Side2d {
    /// `None` where it is an array.
    fn side(&self) -> Option<Side> {
        let first = first_byte(self.memory, self.host, self.device)?;
        Some(Side {
            address: first + (self.y * self.pitch + self.x_bytes) as u64,
            row_bytes: self.pitch as u64,
            slice_bytes: 0,
        })
    }
}

fn copied_2d(error: Error, copy: *const Copy2d, at: At) -> Error {
    // SAFETY: the caller gives the structure, or null.
    if let (ffi::SUCCESS, Some(copy)) = (error, unsafe { copy.as_ref() }) {
        match (copy.to.side(), copy.from.side()) {
            (Some(to), Some(from)) => {
                let size = [copy.width_bytes, copy.height, 1];
                note_box(to, from, BY_ADDRESS, size, at);
            }
            _ => (crate::recorder::runtime::runtime().session).gap(superstep_trace::Gap::ArrayCopy),
        }
    }
    error
}

const DEFAULT: Stream = std::ptr::null_mut();

interposed! { driver:
    [cuMemcpy, cuMemcpy_ptds: true](to: u64, from: u64, bytes: usize) |real, own| {
        copied(real(), to, from, bytes, BY_ADDRESS, (DEFAULT, own))
    }
    [cuMemcpyAsync, cuMemcpyAsync_ptsz: true](to: u64, from: u64, bytes: usize, stream: Stream) |real, own| {
        copied(real(), to, from, bytes, BY_ADDRESS, (stream, own))
    }
    [cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds: true](to: u64, from: u64, bytes: usize) |real, own| {
        copied(real(), to, from, bytes, ffi::HOST_TO_DEVICE, (DEFAULT, own))
    }
    [cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz: true](to: u64, from: u64, bytes: usize, stream: Stream) |real, own| {
        copied(real(), to, from, bytes, ffi::HOST_TO_DEVICE, (stream, own))
    }
    [cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds: true](to: u64, from: u64, bytes: usize) |real, own| {
        copied(real(), to, from, bytes, ffi::DEVICE_TO_HOST, (DEFAULT, own))
    }
    [cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz: true](to: u64, from: u64, bytes: usize, stream: Stream) |real, own| {
        copied(real(), to, from, bytes, ffi::DEVICE_TO_HOST, (stream, own))
    }
    [cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds: true](to: u64, from: u64, bytes: usize) |real, own| {
        copied(real(), to, from, bytes, ffi::DEVICE_TO_DEVICE, (DEFAULT, own))
    }
    [cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz: true](to: u64, from: u64, bytes: usize, stream: Stream) |real, own| {
        copied(real(), to, from, bytes, ffi::DEVICE_TO_DEVICE, (stream, own))
    }
    [cuMemcpy2D_v2, cuMemcpy2D_v2_ptds: true](copy: *const Copy2d) |real, own| {
        copied_2d(real(), copy, (DEFAULT, own))
    }
    [cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds: true](copy: *const Copy2d) |real, own| {
        copied_2d(real(), copy, (DEFAULT, own))
    }
    [cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz: true](copy: *const Copy2d, stream: Stream) |real, own| {
        copied_2d(real(), copy, (stream, own))
    }
    [cuMemsetD8_v2, cuMemsetD8_v2_ptds: true](to: u64, value: u8, count: usize) |real, own| {
        filled::<u8>(real(), to, value.into(), count, (DEFAULT, own))
    }
    [cuMemsetD8Async, cuMemsetD8Async_ptsz: true](to: u64, value: u8, count: usize, stream: Stream) |real, own| {
        filled::<u8>(real(), to, value.into(), count, (stream, own))
    }
    [cuMemsetD16_v2, cuMemsetD16_v2_ptds: true](to: u64, value: u16, count: usize) |real, own| {
        filled::<u16>(real(), to, value.into(), count, (DEFAULT, own))
    }
    [cuMemsetD16Async, cuMemsetD16Async_ptsz: true](to: u64, value: u16, count: usize, stream: Stream) |real, own| {
        filled::<u16>(real(), to, value.into(), count, (stream, own))
    }
    [cuMemsetD32_v2, cuMemsetD32_v2_ptds: true](to: u64, value: c_uint, count: usize) |real, own| {
        filled::<u32>(real(), to, value, count, (DEFAULT, own))
    }
    [cuMemsetD32Async, cuMemsetD32Async_ptsz: true](to: u64, value: c_uint, count: usize, stream: Stream) |real, own| {
        filled::<u32>(real(), to, value, count, (stream, own))
    }
}
