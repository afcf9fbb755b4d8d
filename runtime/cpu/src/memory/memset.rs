//! `cudaMemset` and its variants.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda, fail_if};
use crate::memory::copies::{check_side, span};
use crate::runtime::session;
use crate::streams::stream_id;
use cudarc::runtime::sys::{cudaExtent, cudaMemsetParams, cudaPitchedPtr};
use std::ffi::{c_int, c_void};
use superstep_trace::StreamId;

fn fill_rows(
    address: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    rows: usize,
    stream: *mut c_void,
) -> CudaResult {
    check_sticky()?;
    let stream = stream_id(stream)?;
    if width == 0 || rows == 0 {
        return Ok(());
    }
    fail_if(rows > 1 && pitch < width, CudaError::INVALID_PITCH)?;
    let span = span(rows as u64, width as u64, pitch as u64)?;
    let address = address as u64;
    check_side("cudaMemset", "destination", address, span, Some(true))?;
    let (count, bytes) = match pitch == width || rows == 1 {
        true => (1, width * rows),
        false => (rows, width),
    };
    for row in 0..count {
        let first = address + (row * pitch) as u64;
        // SAFETY: the whole span was checked against its allocation.
        unsafe { std::ptr::write_bytes(first as *mut u8, value as u8, bytes) };
        session().memset(first, bytes as u64, value as u8, stream);
    }
    Ok(())
}

/// Performs a memset that a kernel requested, possibly in the device heap.
pub fn fill_bytes(address: u64, value: u8, bytes: u64, stream: StreamId) -> CudaResult {
    if crate::device_calls::device_heap::range_of(address).is_none() {
        let call = "a kernel's memset";
        check_side(call, "destination", address, bytes, Some(true))?;
    }
    // SAFETY: the bytes are in an allocation, or in the device heap, whose blocks are not checked.
    unsafe { std::ptr::write_bytes(address as *mut u8, value, bytes as usize) };
    session().memset(address, bytes, value, stream);
    Ok(())
}

/// Fills rows of 1-, 2- or 4-byte elements, for a graph node.
pub fn fill_elements(fill: &cudaMemsetParams, stream: *mut c_void) -> CudaResult {
    let (width, height, pitch) = (fill.width, fill.height, fill.pitch);
    let bytes = width.checked_mul(fill.elementSize as usize);
    let bytes = bytes.ok_or(CudaError::INVALID_VALUE)?;
    // Checks and records the rows as a memset of bytes.
    fill_rows(fill.dst, pitch, fill.value as c_int, bytes, height, stream)?;
    if fill.elementSize == 1 {
        return Ok(());
    }
    let element = &fill.value.to_ne_bytes()[..fill.elementSize as usize];
    for row in 0..height {
        let first = fill.dst as usize + row * pitch;
        for column in 0..width {
            let place = (first + column * element.len()) as *mut u8;
            // SAFETY: `fill_rows` checked all of the rows against their allocation.
            unsafe { place.copy_from_nonoverlapping(element.as_ptr(), element.len()) };
        }
    }
    Ok(())
}

cuda! { in_stream Memset:
    fn [cudaMemset cudaMemset_ptds] [cudaMemsetAsync cudaMemsetAsync_ptsz](
        address: *mut c_void, value: c_int, bytes: usize
    ) |_call, stream| {
        fill_rows(address, bytes, value, bytes, 1, stream)
    }

    fn [cudaMemset2D cudaMemset2D_ptds] [cudaMemset2DAsync cudaMemset2DAsync_ptsz](
        address: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize
    ) |_call, stream| {
        fill_rows(address, pitch, value, width, height, stream)
    }

    fn [cudaMemset3D cudaMemset3D_ptds] [cudaMemset3DAsync cudaMemset3DAsync_ptsz](
        pitched: cudaPitchedPtr, value: c_int, extent: cudaExtent
    ) |_call, stream| {
        let slice = pitched.pitch.checked_mul(pitched.ysize);
        for z in 0..extent.depth {
            let first = slice.and_then(|slice| (pitched.ptr as usize).checked_add(z.checked_mul(slice)?));
            let first = first.ok_or(CudaError::INVALID_VALUE)? as *mut c_void;
            fill_rows(first, pitched.pitch, value, extent.width, extent.height, stream)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
