//! `cudaMemset` and its relatives.

use crate::copies::{Extent, PitchedPointer, check_side};
use crate::errors::{CudaError, CudaResult, check_sticky, cuda};
use crate::runtime::session;
use crate::streams::stream_id;
use std::ffi::{c_int, c_void};

const DEFAULT_STREAM: *mut c_void = std::ptr::null_mut();

fn fill(
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
    if rows > 1 && pitch < width {
        return Err(CudaError::INVALID_PITCH);
    }
    let span = pitch
        .checked_mul(rows - 1)
        .and_then(|before| before.checked_add(width))
        .ok_or(CudaError::INVALID_VALUE)?;
    check_side(
        "cudaMemset",
        "destination",
        address as u64,
        span as u64,
        Some(true),
    )?;
    let is_dense = pitch == width || rows == 1;
    let (count, bytes) = if is_dense {
        (1, width * rows)
    } else {
        (rows, width)
    };
    for row in 0..count {
        let first = address as u64 + (row * pitch) as u64;
        // SAFETY: the whole span was checked against its allocation.
        unsafe { std::ptr::write_bytes(first as *mut u8, value as u8, bytes) };
        session().memset(first, bytes as u64, value as u8, stream);
    }
    Ok(())
}

fn fill_3d(
    pitched: PitchedPointer,
    value: c_int,
    extent: Extent,
    stream: *mut c_void,
) -> CudaResult {
    let slice = pitched
        .pitch
        .checked_mul(pitched.height)
        .ok_or(CudaError::INVALID_VALUE)?;
    for z in 0..extent.depth {
        let offset = z.checked_mul(slice).ok_or(CudaError::INVALID_VALUE)?;
        let first = (pitched.pointer as usize)
            .checked_add(offset)
            .ok_or(CudaError::INVALID_VALUE)?;
        fill(
            first as *mut c_void,
            pitched.pitch,
            value,
            extent.width,
            extent.height,
            stream,
        )?;
    }
    Ok(())
}

cuda! {
    fn cudaMemset(address: *mut c_void, value: c_int, bytes: usize) also cudaMemset_ptds {
        fill(address, bytes, value, bytes, 1, DEFAULT_STREAM)
    }

    fn cudaMemsetAsync(address: *mut c_void, value: c_int, bytes: usize, stream: *mut c_void) also cudaMemsetAsync_ptsz {
        fill(address, bytes, value, bytes, 1, stream)
    }

    fn cudaMemset2D(address: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) also cudaMemset2D_ptds {
        fill(address, pitch, value, width, height, DEFAULT_STREAM)
    }

    fn cudaMemset2DAsync(
        address: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: *mut c_void
    ) also cudaMemset2DAsync_ptsz {
        fill(address, pitch, value, width, height, stream)
    }

    fn cudaMemset3D(pitched: PitchedPointer, value: c_int, extent: Extent) also cudaMemset3D_ptds {
        fill_3d(pitched, value, extent, DEFAULT_STREAM)
    }

    fn cudaMemset3DAsync(pitched: PitchedPointer, value: c_int, extent: Extent, stream: *mut c_void) also cudaMemset3DAsync_ptsz {
        fill_3d(pitched, value, extent, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep_trace::AllocationKind;

    #[test]
    fn fills_rows_and_only_device_memory() {
        let address = crate::memory::allocate(64, AllocationKind::Device).unwrap() as *mut c_void;
        assert_eq!(fill(address, 16, 0x1ff, 3, 4, DEFAULT_STREAM), Ok(()));
        // SAFETY: the allocation has 64 bytes.
        let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), 64) };
        assert_eq!(bytes[..5], [255, 255, 255, 0, 0]);
        assert_eq!(bytes[48..52], [255, 255, 255, 0]);
        assert_eq!(
            fill(address, 65, 0, 65, 1, DEFAULT_STREAM),
            Err(CudaError::INVALID_VALUE)
        );
        let mut host = [0u8; 4];
        assert_eq!(
            fill(host.as_mut_ptr().cast(), 4, 0, 4, 1, DEFAULT_STREAM),
            Err(CudaError::INVALID_VALUE)
        );
    }
}
