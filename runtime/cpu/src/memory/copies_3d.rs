//! `cudaMemcpy3D`: boxes in pitched memory and in arrays.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda, given};
use crate::memory::arrays;
use crate::memory::copies::{Rows, check_rows, copy_rows};
use crate::streams::graphs::{Kind, submit};
use crate::streams::{default_of, stream_id};
use cudarc::runtime::sys::{cudaPitchedPtr, cudaPos};
use std::ffi::c_void;
use superstep_runtime_core::cuda::Copy3d;

/// Returns the first byte, row pitch and slice pitch of one side of a three-dimensional copy.
fn side_3d(
    array: *mut c_void,
    position: cudaPos,
    pitched: cudaPitchedPtr,
) -> Result<(u64, u64, u64), CudaError> {
    let (base, pitch, height, element) = if array.is_null() {
        let base = pitched.ptr as u64;
        (base, pitched.pitch as u64, pitched.ysize, 1)
    } else {
        let array = arrays::get(array)?;
        let (height, element) = (array.extent.height.max(1), array.element_bytes);
        (array.address, array.pitch_bytes, height, element)
    };
    let place = || {
        let slice = pitch.checked_mul(height as u64)?;
        let z = (position.z as u64).checked_mul(slice)?;
        let y = (position.y as u64).checked_mul(pitch)?;
        let x = (position.x as u64).checked_mul(element)?;
        let first = base.checked_add(z)?.checked_add(y)?.checked_add(x)?;
        (base != 0).then_some((first, pitch, slice))
    };
    place().ok_or(CudaError::INVALID_VALUE)
}

pub fn copy_3d(call: &str, copy: &Copy3d, stream: *mut c_void) -> CudaResult {
    check_sticky()?;
    let (array, position) = (copy.destination_array, copy.destination_position);
    let (to, to_pitch, to_slice) = side_3d(array, position, copy.destination)?;
    let (from, from_pitch, from_slice) =
        side_3d(copy.source_array, copy.source_position, copy.source)?;
    // If either side is an array, the width is in elements.
    let array = arrays::get(copy.source_array).or_else(|_| arrays::get(copy.destination_array));
    let element_bytes = array.map_or(1, |array| array.element_bytes);
    let bytes = (copy.extent.width as u64).checked_mul(element_bytes);
    let bytes = bytes.ok_or(CudaError::INVALID_VALUE)?;
    let stream = stream_id(stream)?;
    let slice = |z: u64| {
        Some(Rows {
            to: to.checked_add(z.checked_mul(to_slice)?)?,
            from: from.checked_add(z.checked_mul(from_slice)?)?,
            bytes,
            rows: copy.extent.height as u64,
            to_pitch,
            from_pitch,
        })
    };
    let slices = || (0..copy.extent.depth as u64).map(|z| slice(z).ok_or(CudaError::INVALID_VALUE));
    // Check all slices first, so that a box that does not fit is not partially copied.
    if bytes > 0 && copy.extent.height > 0 {
        for rows in slices() {
            check_rows(call, &rows?, copy.kind)?;
        }
    }
    for rows in slices() {
        copy_rows(call, rows?, copy.kind, stream)?;
    }
    Ok(())
}

cuda! { by_name:
    fn [cudaMemcpy3D cudaMemcpy3D_ptds](parameters: *const Copy3d) |name| {
        copy_3d("cudaMemcpy3D", given(parameters)?, default_of(name))
    }
}

cuda! {
    fn [cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz](parameters: *const Copy3d, stream: *mut c_void) {
        let copy = *given(parameters)?;
        submit(stream, Kind::Copy, move |stream| copy_3d("cudaMemcpy3DAsync", &copy, stream))
    }
}

#[cfg(test)]
mod tests;
