//! Copies: `cudaMemcpy` and its relatives. Each is checked against the allocations that it touches, done at once, and noted.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda};
use crate::memory;
use crate::runtime::session;
use crate::streams::stream_id;
use std::ffi::{c_int, c_void};
use superstep_trace::{CopyDirection, StreamId};

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PitchedPointer {
    pub pointer: *mut c_void,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Row length that the program asked for.
    pub width: usize,
    /// Rows of a slice.
    pub height: usize,
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// In x: bytes, or elements of an array.
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaMemcpyDefault`.
const KIND_DEFAULT: c_int = 4;

/// Which sides of a copy must be device memory; `None`: whatever they are.
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

/// Checks one side of a copy or memset of `bytes` at `address`; returns whether it is device memory.
///
/// # Errors
/// [`CudaError::INVALID_VALUE`], with a warning, when it leaves its allocation, or is no device memory but must be.
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
    match memory::find(address) {
        Some(target) if target.end() - address < bytes => {
            let over = bytes - (target.end() - address);
            fail(format_args!(
                "is in the {} byte allocation at {:#x}, which ends {over} bytes too early",
                target.bytes, target.address
            ))
        }
        Some(target) => Ok(!target.is_host()),
        None if must_be_device == Some(true) => fail(format_args!(
            "is not device memory: {}",
            memory::locate(address)
        )),
        None => Ok(false),
    }
}

fn direction(to_device: bool, from_device: bool) -> CopyDirection {
    match (from_device, to_device) {
        (false, false) => CopyDirection::HostToHost,
        (false, true) => CopyDirection::HostToDevice,
        (true, false) => CopyDirection::DeviceToHost,
        (true, true) => CopyDirection::DeviceToDevice,
    }
}

/// Rows of a copy: `rows` times `bytes`, the starts `to_pitch` and `from_pitch` apart.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub to: u64,
    pub from: u64,
    /// Bytes of a row.
    pub bytes: u64,
    pub rows: u64,
    /// Bytes from row to row at the destination.
    pub to_pitch: u64,
    /// Bytes from row to row at the source.
    pub from_pitch: u64,
}

impl Rows {
    /// A copy in one piece.
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

    /// Bytes from the first to one past the last, with rows `pitch` apart.
    fn span(&self, pitch: u64) -> Result<u64, CudaError> {
        let before = pitch
            .checked_mul(self.rows - 1)
            .ok_or(CudaError::INVALID_VALUE)?;
        before
            .checked_add(self.bytes)
            .ok_or(CudaError::INVALID_VALUE)
    }
}

/// Copies rows.
///
/// # Errors
/// [`CudaError::INVALID_VALUE`] when a side leaves its allocation, [`CudaError::INVALID_PITCH`] when rows overlap.
pub fn copy_rows(call: &str, rows: Rows, kind: c_int, stream: StreamId) -> CudaResult {
    check_sticky()?;
    let (to_device, from_device) = sides(kind)?;
    if rows.bytes == 0 || rows.rows == 0 {
        return Ok(());
    }
    if rows.rows > 1 && (rows.to_pitch < rows.bytes || rows.from_pitch < rows.bytes) {
        return Err(CudaError::INVALID_PITCH);
    }
    if rows.to == 0 || rows.from == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    let is_to_device = check_side(
        call,
        "destination",
        rows.to,
        rows.span(rows.to_pitch)?,
        to_device,
    )?;
    let is_from_device = check_side(
        call,
        "source",
        rows.from,
        rows.span(rows.from_pitch)?,
        from_device,
    )?;
    let direction = direction(is_to_device, is_from_device);
    let is_dense = rows.to_pitch == rows.bytes && rows.from_pitch == rows.bytes;
    let (count, bytes) = if is_dense {
        (1, rows.bytes * rows.rows)
    } else {
        (rows.rows, rows.bytes)
    };
    for row in 0..count {
        let (to, from) = (
            rows.to + row * rows.to_pitch,
            rows.from + row * rows.from_pitch,
        );
        // SAFETY: device sides were checked against their allocations; that host sides are valid is the program's promise.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) };
        session().copy(direction, to, from, bytes, stream);
    }
    Ok(())
}

/// Copies in one piece.
///
/// # Errors
/// As [`copy_rows`].
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

#[allow(clippy::too_many_arguments)]
fn copy_2d(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: *mut c_void,
) -> CudaResult {
    if width > to_pitch || width > from_pitch {
        return Err(CudaError::INVALID_PITCH);
    }
    let rows = Rows {
        to: to as u64,
        from: from as u64,
        bytes: width as u64,
        rows: height as u64,
        to_pitch: to_pitch as u64,
        from_pitch: from_pitch as u64,
    };
    copy_rows("cudaMemcpy2D", rows, kind, stream_id(stream)?)
}

const DEFAULT_STREAM: *mut c_void = std::ptr::null_mut();

cuda! {
    fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) also cudaMemcpy_ptds {
        copy("cudaMemcpy", to, from, bytes, kind, DEFAULT_STREAM)
    }

    /// `cudaMemcpyAsync`: done at once, since streams run in order.
    fn cudaMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: *mut c_void) also cudaMemcpyAsync_ptsz {
        copy("cudaMemcpyAsync", to, from, bytes, kind, stream)
    }

    /// `cudaMemcpyPeer`: there is one device.
    fn cudaMemcpyPeer(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize) {
        if to_device != 0 || from_device != 0 {
            return Err(CudaError::INVALID_DEVICE);
        }
        copy("cudaMemcpyPeer", to, from, bytes, 3, DEFAULT_STREAM)
    }

    fn cudaMemcpyPeerAsync(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize, stream: *mut c_void) {
        if to_device != 0 || from_device != 0 {
            return Err(CudaError::INVALID_DEVICE);
        }
        copy("cudaMemcpyPeerAsync", to, from, bytes, 3, stream)
    }

    fn cudaMemcpy2D(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int
    ) also cudaMemcpy2D_ptds {
        copy_2d(to, to_pitch, from, from_pitch, width, height, kind, DEFAULT_STREAM)
    }

    fn cudaMemcpy2DAsync(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: c_int, stream: *mut c_void
    ) also cudaMemcpy2DAsync_ptsz {
        copy_2d(to, to_pitch, from, from_pitch, width, height, kind, stream)
    }

}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::size_of;
    use superstep_trace::AllocationKind;

    #[test]
    fn structures_have_the_layout_of_the_headers() {
        assert_eq!((size_of::<PitchedPointer>(), size_of::<Extent>()), (32, 24));
    }

    #[test]
    fn copies_stay_inside_allocations() {
        let device = memory::allocate(100, AllocationKind::Device).unwrap();
        let host = [7u8; 200];
        let from = host.as_ptr() as u64;
        let stream = StreamId(0);
        assert_eq!(
            copy_rows("test", Rows::one(device, from, 100), 1, stream),
            Ok(())
        );
        assert_eq!(
            copy_rows("test", Rows::one(device, from, 101), 1, stream),
            Err(CudaError::INVALID_VALUE)
        );
        assert_eq!(
            copy_rows("test", Rows::one(device + 99, from, 1), 4, stream),
            Ok(())
        );
        assert_eq!(
            copy_rows("test", Rows::one(from, from, 4), 1, stream),
            Err(CudaError::INVALID_VALUE),
            "no device memory"
        );
        assert_eq!(
            copy_rows("test", Rows::one(device, from, 4), 9, stream),
            Err(CudaError::INVALID_MEMCPY_DIRECTION)
        );
        assert_eq!(
            copy_rows("test", Rows::one(0, from, 4), 1, stream),
            Err(CudaError::INVALID_VALUE)
        );
        let mut back = [0u8; 100];
        assert_eq!(
            copy_rows(
                "test",
                Rows::one(back.as_mut_ptr() as u64, device, 100),
                2,
                stream
            ),
            Ok(())
        );
        assert_eq!(back, [7; 100]);
    }

    #[test]
    fn rows_may_be_apart() {
        let device = memory::allocate(64, AllocationKind::Device).unwrap();
        let host: Vec<u8> = (0..16).collect();
        let rows = Rows {
            to: device,
            from: host.as_ptr() as u64,
            bytes: 4,
            rows: 4,
            to_pitch: 16,
            from_pitch: 4,
        };
        assert_eq!(copy_rows("test", rows, 1, StreamId(0)), Ok(()));
        // SAFETY: the allocation has 64 bytes.
        let copied = unsafe { std::slice::from_raw_parts(device as *const u8, 64) };
        assert_eq!(copied[16..21], [4, 5, 6, 7, 0]);
        assert_eq!(
            copy_rows(
                "test",
                Rows {
                    to_pitch: 32,
                    ..rows
                },
                1,
                StreamId(0)
            ),
            Err(CudaError::INVALID_VALUE)
        );
        assert_eq!(
            copy_rows(
                "test",
                Rows {
                    to_pitch: 2,
                    ..rows
                },
                1,
                StreamId(0)
            ),
            Err(CudaError::INVALID_PITCH)
        );
    }
}
