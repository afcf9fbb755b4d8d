//! CUDA arrays, as far as copies go: plain memory with a pitch. There are no textures to read them with.

use crate::copies::{Extent, Rows, copy_rows};
use crate::errors::{CudaError, CudaResult, check_sticky, cuda, put};
use crate::memory;
use crate::streams::stream_id;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::LazyLock;
use superstep_trace::AllocationKind;

/// `cudaChannelFormatDesc`: bits of each component.
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
    /// Bytes from row to row.
    pub pitch_bytes: u64,
    pub element_bytes: u64,
    /// Elements; 0 for dimensions that it lacks.
    pub extent: Extent,
    format: ChannelFormat,
    flags: c_uint,
}

/// Addresses of the live arrays.
static ARRAYS: LazyLock<Mutex<HashSet<usize>>> = LazyLock::new(Mutex::default);

/// The array behind a handle.
pub fn get(handle: *const Array) -> Option<Array> {
    let arrays = ARRAYS.lock();
    // SAFETY: the set holds only handles of boxes that were not freed yet.
    arrays
        .contains(&(handle as usize))
        .then(|| unsafe { *handle })
}

fn allocate(
    place: *mut *mut Array,
    format: *const ChannelFormat,
    extent: Extent,
    flags: c_uint,
) -> CudaResult {
    check_sticky()?;
    // SAFETY: the program passes a valid format or null.
    let format = *unsafe { format.as_ref() }.ok_or(CudaError::INVALID_VALUE)?;
    let bits = [format.x, format.y, format.z, format.w]
        .iter()
        .map(|&bits| u64::try_from(bits).unwrap_or(0))
        .sum::<u64>();
    if place.is_null() || bits == 0 || bits % 8 != 0 || extent.width == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    let element_bytes = bits / 8;
    let row = extent
        .width
        .checked_mul(element_bytes as usize)
        .ok_or(CudaError::MEMORY_ALLOCATION)?;
    let pitch = memory::pitch_of(row)?;
    let rows = extent
        .height
        .max(1)
        .checked_mul(extent.depth.max(1))
        .ok_or(CudaError::MEMORY_ALLOCATION)?;
    let bytes = pitch
        .checked_mul(rows)
        .ok_or(CudaError::MEMORY_ALLOCATION)?;
    let address = memory::allocate(bytes, AllocationKind::Array)?;
    let array = Array {
        address,
        pitch_bytes: pitch as u64,
        element_bytes,
        extent,
        format,
        flags,
    };
    let handle = Box::into_raw(Box::new(array));
    ARRAYS.lock().insert(handle as usize);
    put(place, handle)
}

fn free(handle: *mut Array) -> CudaResult {
    check_sticky()?;
    if handle.is_null() {
        return Ok(());
    }
    if !ARRAYS.lock().remove(&(handle as usize)) {
        return Err(CudaError::INVALID_RESOURCE_HANDLE);
    }
    // SAFETY: the handle was in the set, so it comes from `allocate` and was not freed before.
    let array = unsafe { Box::from_raw(handle) };
    memory::free(array.address, |kind| *kind == AllocationKind::Array)
}

/// First byte of a part of an array: `x` bytes into row `y`.
fn part(handle: *const Array, x: usize, y: usize) -> Result<(u64, u64), CudaError> {
    let array = get(handle).ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
    if x as u64 > array.pitch_bytes || y >= array.extent.height.max(1) {
        return Err(CudaError::INVALID_VALUE);
    }
    Ok((
        array.address + y as u64 * array.pitch_bytes + x as u64,
        array.pitch_bytes,
    ))
}

#[derive(Clone, Copy)]
struct Plane {
    address: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

fn to_array(
    handle: *mut Array,
    x: usize,
    y: usize,
    from: Plane,
    kind: c_int,
    stream: *mut c_void,
) -> CudaResult {
    let (to, to_pitch) = part(handle, x, y)?;
    let (bytes, rows) = (from.width as u64, from.height as u64);
    let rows = Rows {
        to,
        from: from.address,
        bytes,
        rows,
        to_pitch,
        from_pitch: from.pitch as u64,
    };
    copy_rows("cudaMemcpy2DToArray", rows, kind, stream_id(stream)?)
}

fn from_array(
    to: Plane,
    handle: *const Array,
    x: usize,
    y: usize,
    kind: c_int,
    stream: *mut c_void,
) -> CudaResult {
    let (from, from_pitch) = part(handle, x, y)?;
    let (bytes, rows) = (to.width as u64, to.height as u64);
    let rows = Rows {
        to: to.address,
        from,
        bytes,
        rows,
        to_pitch: to.pitch as u64,
        from_pitch,
    };
    copy_rows("cudaMemcpy2DFromArray", rows, kind, stream_id(stream)?)
}

const DEFAULT_STREAM: *mut c_void = std::ptr::null_mut();

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
    fn cudaMallocArray(array: *mut *mut Array, format: *const ChannelFormat, width: usize, height: usize, flags: c_uint) {
        allocate(array, format, Extent { width, height, depth: 0 }, flags)
    }

    fn cudaMalloc3DArray(array: *mut *mut Array, format: *const ChannelFormat, extent: Extent, flags: c_uint) {
        allocate(array, format, extent, flags)
    }

    fn cudaFreeArray(array: *mut Array) {
        free(array)
    }

    fn cudaArrayGetInfo(format: *mut ChannelFormat, extent: *mut Extent, flags: *mut c_uint, array: *mut Array) {
        let array = get(array).ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
        if !format.is_null() {
            put(format, array.format)?;
        }
        if !extent.is_null() {
            put(extent, array.extent)?;
        }
        if !flags.is_null() {
            put(flags, array.flags)?;
        }
        Ok(())
    }

    fn cudaGetChannelDesc(format: *mut ChannelFormat, array: *const Array) {
        put(format, get(array).ok_or(CudaError::INVALID_RESOURCE_HANDLE)?.format)
    }

    fn cudaMemcpy2DToArray(
        array: *mut Array, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int
    ) also cudaMemcpy2DToArray_ptds {
        to_array(array, x, y, Plane { address: from as u64, pitch, width, height }, kind, DEFAULT_STREAM)
    }

    fn cudaMemcpy2DToArrayAsync(
        array: *mut Array, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int, stream: *mut c_void
    ) also cudaMemcpy2DToArrayAsync_ptsz {
        to_array(array, x, y, Plane { address: from as u64, pitch, width, height }, kind, stream)
    }

    fn cudaMemcpy2DFromArray(
        to: *mut c_void, pitch: usize, array: *const Array, x: usize, y: usize, width: usize, height: usize, kind: c_int
    ) also cudaMemcpy2DFromArray_ptds {
        from_array(Plane { address: to as u64, pitch, width, height }, array, x, y, kind, DEFAULT_STREAM)
    }

    fn cudaMemcpy2DFromArrayAsync(
        to: *mut c_void, pitch: usize, array: *const Array, x: usize, y: usize, width: usize, height: usize, kind: c_int, stream: *mut c_void
    ) also cudaMemcpy2DFromArrayAsync_ptsz {
        from_array(Plane { address: to as u64, pitch, width, height }, array, x, y, kind, stream)
    }

    /// `cudaMemcpyToArray`, within one row.
    fn cudaMemcpyToArray(array: *mut Array, x: usize, y: usize, from: *const c_void, bytes: usize, kind: c_int) also cudaMemcpyToArray_ptds {
        in_rows(array, x, y, bytes, |address, offset, bytes| {
            copy_rows("cudaMemcpyToArray", Rows::one(address, from as u64 + offset, bytes), kind, stream_id(DEFAULT_STREAM)?)
        })
    }

    /// `cudaMemcpyFromArray`, within one row.
    fn cudaMemcpyFromArray(to: *mut c_void, array: *const Array, x: usize, y: usize, bytes: usize, kind: c_int) also cudaMemcpyFromArray_ptds {
        in_rows(array, x, y, bytes, |address, offset, bytes| {
            copy_rows("cudaMemcpyFromArray", Rows::one(to as u64 + offset, address, bytes), kind, stream_id(DEFAULT_STREAM)?)
        })
    }
}

/// Cuts `bytes` from row `y`, byte `x` on into the array's rows: address, offset in the linear memory, bytes.
fn in_rows(
    handle: *const Array,
    x: usize,
    y: usize,
    bytes: usize,
    copy: impl Fn(u64, u64, u64) -> CudaResult,
) -> CudaResult {
    let array = get(handle).ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
    let row_bytes = array.extent.width as u64 * array.element_bytes;
    let (mut column, mut row, mut done) = (x as u64, y as u64, 0);
    while done < bytes as u64 {
        if column >= row_bytes || row >= array.extent.height.max(1) as u64 {
            return Err(CudaError::INVALID_VALUE);
        }
        let piece = (row_bytes - column).min(bytes as u64 - done);
        copy(
            array.address + row * array.pitch_bytes + column,
            done,
            piece,
        )?;
        (column, row, done) = (0, row + 1, done + piece);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_holds_what_is_copied_there() {
        let format = cudaCreateChannelDesc(32, 0, 0, 0, 2);
        let mut handle = std::ptr::null_mut();
        assert_eq!(
            allocate(
                &mut handle,
                &format,
                Extent {
                    width: 3,
                    height: 2,
                    depth: 0
                },
                0
            ),
            Ok(())
        );
        let values = [1u32, 2, 3, 4, 5, 6];
        let mut back = [0u32; 6];
        // SAFETY: both hold 6 values.
        unsafe {
            assert_eq!(
                cudaMemcpyToArray(handle, 0, 0, values.as_ptr().cast(), 24, 1),
                0
            );
            assert_eq!(
                cudaMemcpy2DFromArray(back.as_mut_ptr().cast(), 12, handle, 0, 0, 12, 2, 2),
                0
            );
        }
        assert_eq!(back, values);
        assert_eq!(free(handle), Ok(()));
        assert_eq!(free(handle), Err(CudaError::INVALID_RESOURCE_HANDLE));
    }
}
