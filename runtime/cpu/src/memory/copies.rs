//! Copies: `cudaMemcpy` and its variants. Each is checked against its allocations, performed immediately, and recorded.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda, fail_if};
use crate::memory;
use crate::runtime::session;
use crate::streams::stream_id;
use std::ffi::{c_int, c_void};
use superstep_runtime_core::cuda::direction;
use superstep_trace::{CopyDirection, StreamId};

/// `cudaMemcpyDefault`.
pub const KIND_DEFAULT: c_int = 4;

/// Returns whether the destination and the source must be device memory; `None` permits any memory.
fn sides(kind: c_int) -> Result<(Option<bool>, Option<bool>), CudaError> {
    match kind {
        0 => Ok((Some(false), Some(false))),
        1 => Ok((Some(true), Some(false))),
        2 => Ok((Some(false), Some(true))),
        3 => Ok((Some(true), Some(true))),
        KIND_DEFAULT => Ok((None, None)),
        _ => Err(CudaError::INVALID_MEMCPY_DIRECTION),
    }
}

/// Checks one side of a copy or memset of `bytes` bytes at `address`; returns whether it is device memory. Fails, with
/// a warning, if the range exceeds its allocation, or must be device memory but is not.
pub fn check_side(
    call: &str,
    side: &str,
    address: u64,
    bytes: u64,
    must_be_device: Option<bool>,
) -> Result<bool, CudaError> {
    let fail = |what: std::fmt::Arguments<'_>| {
        session().warning(format_args!(
            "{call} of {bytes} bytes: the {side} {address:#x} {what}"
        ));
        Err(CudaError::INVALID_VALUE)
    };
    match memory::find(address, |block| {
        (block.address, block.bytes, block.is_host())
    }) {
        Some((start, size, _)) if start + size - address < bytes => {
            let over = bytes - (start + size - address);
            fail(format_args!(
                "is in the {size}-byte allocation at {start:#x}, which ends {over} bytes too early"
            ))
        }
        Some((.., is_host)) => Ok(!is_host),
        None if must_be_device == Some(true) => {
            let location = memory::locate(address);
            fail(format_args!("is not device memory: {location}"))
        }
        None => Ok(false),
    }
}

/// Rows of a copy, `bytes` bytes each. Pitches are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub to: u64,
    pub from: u64,
    pub bytes: u64,
    pub rows: u64,
    pub to_pitch: u64,
    pub from_pitch: u64,
}

impl Rows {
    pub fn one(to: u64, from: u64, bytes: u64) -> Self {
        Rows {
            to,
            from,
            bytes,
            rows: 1,
            to_pitch: bytes,
            from_pitch: bytes,
        }
    }
}

/// Returns the number of bytes spanned by `rows` rows (at least one) of `bytes` bytes each, `pitch` bytes apart.
pub fn span(rows: u64, bytes: u64, pitch: u64) -> Result<u64, CudaError> {
    let last_row = pitch.checked_mul(rows - 1);
    last_row
        .and_then(|offset| offset.checked_add(bytes))
        .ok_or(CudaError::INVALID_VALUE)
}

pub fn check_rows(call: &str, rows: &Rows, kind: c_int) -> Result<CopyDirection, CudaError> {
    let (to_device, from_device) = sides(kind)?;
    if rows.rows > 1 && (rows.to_pitch < rows.bytes || rows.from_pitch < rows.bytes) {
        return Err(CudaError::INVALID_PITCH);
    }
    fail_if(rows.to == 0 || rows.from == 0, CudaError::INVALID_VALUE)?;
    let to_span = span(rows.rows, rows.bytes, rows.to_pitch)?;
    let is_to_device = check_side(call, "destination", rows.to, to_span, to_device)?;
    let from_span = span(rows.rows, rows.bytes, rows.from_pitch)?;
    let is_from_device = check_side(call, "source", rows.from, from_span, from_device)?;
    Ok(direction(is_from_device, is_to_device))
}

pub fn copy_rows(call: &str, rows: Rows, kind: c_int, stream: StreamId) -> CudaResult {
    check_sticky()?;
    if rows.bytes == 0 || rows.rows == 0 {
        return sides(kind).map(drop);
    }
    let direction = check_rows(call, &rows, kind)?;
    let is_dense = rows.to_pitch == rows.bytes && rows.from_pitch == rows.bytes;
    let (count, bytes) = match is_dense {
        true => (1, rows.bytes * rows.rows),
        false => (rows.rows, rows.bytes),
    };
    for row in 0..count {
        let to = rows.to + row * rows.to_pitch;
        let from = rows.from + row * rows.from_pitch;
        // SAFETY: device memory was checked against its allocations; the program guarantees that host memory is valid.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) };
        session().copy(direction, to, from, bytes, stream);
    }
    Ok(())
}

pub fn copy(
    call: &str,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
    stream: *mut c_void,
) -> CudaResult {
    let rows = Rows::one(to as u64, from as u64, bytes as u64);
    copy_rows(call, rows, kind, stream_id(stream)?)
}

cuda! { in_stream Copy:
    fn [cudaMemcpy cudaMemcpy_ptds] [cudaMemcpyAsync cudaMemcpyAsync_ptsz](
        to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int
    ) |call, stream| {
        copy(call, to, from, bytes, kind, stream)
    }

    fn [cudaMemcpy2D cudaMemcpy2D_ptds] [cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz](
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int
    ) |call, stream| {
        fail_if(width > to_pitch || width > from_pitch, CudaError::INVALID_PITCH)?;
        let rows = Rows {
            to: to as u64,
            from: from as u64,
            bytes: width as u64,
            rows: height as u64,
            to_pitch: to_pitch as u64,
            from_pitch: from_pitch as u64,
        };
        copy_rows(call, rows, kind, stream_id(stream)?)
    }
}

#[cfg(test)]
mod tests;
