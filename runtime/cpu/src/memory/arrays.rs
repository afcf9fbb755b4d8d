//! CUDA arrays, which are implemented as pitched memory and support only copies. Textures are not supported.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda, given, put, put_if_wanted};
use crate::handles::Handles;
use crate::memory;
use crate::memory::copies::{Rows, copy_rows};
use crate::streams::stream_id;
use cudarc::runtime::sys::cudaExtent;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use superstep_trace::AllocationKind;

/// `cudaChannelFormatDesc`: bits per component and a kind, which may come from any CUDA version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChannelFormat {
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
}

#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub address: u64,
    pub pitch_bytes: u64,
    pub element_bytes: u64,
    /// Size in elements; 0 for absent dimensions.
    pub extent: cudaExtent,
    format: ChannelFormat,
    flags: c_uint,
}

static ARRAYS: Handles<Array> = Handles::new();

pub fn get(handle: *const c_void) -> Result<Arc<Array>, CudaError> {
    ARRAYS.get(handle as usize)
}

fn allocate(
    place: *mut *mut c_void,
    format: *const ChannelFormat,
    extent: cudaExtent,
    flags: c_uint,
) -> CudaResult {
    check_sticky()?;
    let format = *given(format)?;
    let bits = [format.x, format.y, format.z, format.w];
    let bits: u64 = bits
        .map(|bits| u64::try_from(bits).unwrap_or(0))
        .iter()
        .sum();
    if place.is_null() || bits == 0 || !bits.is_multiple_of(8) || extent.width == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    let element_bytes = bits / 8;
    let too_large = CudaError::MEMORY_ALLOCATION;
    let row = extent.width.checked_mul(element_bytes as usize);
    let pitch = memory::pitch_of(row.ok_or(too_large)?)?;
    let rows = extent.height.max(1).checked_mul(extent.depth.max(1));
    let bytes = rows.and_then(|rows| rows.checked_mul(pitch));
    let address = memory::allocate(bytes.ok_or(too_large)?, AllocationKind::Array)?;
    let array = Array {
        address,
        pitch_bytes: pitch as u64,
        element_bytes,
        extent,
        format,
        flags,
    };
    put(place, ARRAYS.insert(array) as *mut c_void)
}

/// Returns the address of byte `x` in row `y` of an array, and the array's pitch.
fn part(handle: *const c_void, x: usize, y: usize) -> Result<(u64, u64), CudaError> {
    let array = get(handle)?;
    if x as u64 > array.pitch_bytes || y >= array.extent.height.max(1) {
        return Err(CudaError::INVALID_VALUE);
    }
    let pitch = array.pitch_bytes;
    Ok((array.address + y as u64 * pitch + x as u64, pitch))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> ChannelFormat {
    ChannelFormat { x, y, z, w, kind }
}

cuda! {
    fn [cudaMallocArray](array: *mut *mut c_void, format: *const ChannelFormat, width: usize, height: usize, flags: c_uint) {
        allocate(array, format, cudaExtent { width, height, depth: 0 }, flags)
    }

    fn [cudaMalloc3DArray](array: *mut *mut c_void, format: *const ChannelFormat, extent: cudaExtent, flags: c_uint) {
        allocate(array, format, extent, flags)
    }

    fn [cudaFreeArray](array: *mut c_void) {
        check_sticky()?;
        if array.is_null() {
            return Ok(());
        }
        let array = ARRAYS.remove(array as usize)?;
        memory::free(array.address, &[AllocationKind::Array])
    }

    fn [cudaArrayGetInfo](format: *mut ChannelFormat, extent: *mut cudaExtent, flags: *mut c_uint, array: *mut c_void) {
        let array = get(array)?;
        put_if_wanted(format, array.format)?;
        put_if_wanted(extent, array.extent)?;
        put_if_wanted(flags, array.flags)
    }

    fn [cudaGetChannelDesc](format: *mut ChannelFormat, array: *const c_void) {
        put(format, get(array)?.format)
    }
}

cuda! { in_stream Copy:
    fn [cudaMemcpyToArray cudaMemcpyToArray_ptds] [cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int
    ) |call, stream| {
        let stream = stream_id(stream)?;
        in_rows(array, x, y, bytes, |address, offset, bytes| {
            copy_rows(call, Rows::one(address, from as u64 + offset, bytes), kind, stream)
        })
    }

    fn [cudaMemcpyFromArray cudaMemcpyFromArray_ptds] [cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz](
        to: *mut c_void, array: *const c_void, x: usize, y: usize, bytes: usize, kind: c_int
    ) |call, stream| {
        let stream = stream_id(stream)?;
        in_rows(array, x, y, bytes, |address, offset, bytes| {
            copy_rows(call, Rows::one(to as u64 + offset, address, bytes), kind, stream)
        })
    }

    fn [cudaMemcpy2DToArray cudaMemcpy2DToArray_ptds] [cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz](
        array: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int
    ) |call, stream| {
        let (to, to_pitch) = part(array, x, y)?;
        let (bytes, rows) = (width as u64, height as u64);
        let rows = Rows { to, from: from as u64, bytes, rows, to_pitch, from_pitch: pitch as u64 };
        copy_rows(call, rows, kind, stream_id(stream)?)
    }

    fn [cudaMemcpy2DFromArray cudaMemcpy2DFromArray_ptds] [cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz](
        to: *mut c_void, pitch: usize, array: *const c_void, x: usize, y: usize, width: usize, height: usize, kind: c_int
    ) |call, stream| {
        let (from, from_pitch) = part(array, x, y)?;
        let (bytes, rows) = (width as u64, height as u64);
        let rows = Rows { to: to as u64, from, bytes, rows, to_pitch: pitch as u64, from_pitch };
        copy_rows(call, rows, kind, stream_id(stream)?)
    }
}

/// Splits `bytes` bytes, starting at byte `x` of row `y`, into rows, and calls `copy` with each row's address, offset
/// in linear memory, and size.
fn in_rows(
    handle: *const c_void,
    x: usize,
    y: usize,
    bytes: usize,
    copy: impl Fn(u64, u64, u64) -> CudaResult,
) -> CudaResult {
    let array = get(handle)?;
    let row_bytes = array.extent.width as u64 * array.element_bytes;
    let (mut column, mut row, mut done) = (x as u64, y as u64, 0);
    while done < bytes as u64 {
        if column >= row_bytes || row >= array.extent.height.max(1) as u64 {
            return Err(CudaError::INVALID_VALUE);
        }
        let piece = (row_bytes - column).min(bytes as u64 - done);
        let address = array.address + row * array.pitch_bytes + column;
        copy(address, done, piece)?;
        (column, row, done) = (0, row + 1, done + piece);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
