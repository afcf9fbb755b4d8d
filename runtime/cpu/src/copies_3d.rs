//! `cudaMemcpy3D`: boxes of pitched memory and of arrays.

use crate::arrays::Array;
use crate::copies::{Extent, PitchedPointer, Rows, copy_rows};
use crate::errors::{CudaError, CudaResult, cuda};
use crate::streams::stream_id;
use std::ffi::{c_int, c_void};

const DEFAULT_STREAM: *mut c_void = std::ptr::null_mut();

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Position {
    x: usize,
    y: usize,
    z: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy3D {
    source_array: *mut Array,
    source_position: Position,
    source: PitchedPointer,
    destination_array: *mut Array,
    destination_position: Position,
    destination: PitchedPointer,
    extent: Extent,
    kind: c_int,
}

/// One side of a 3-dimensional copy: first byte, row pitch, slice pitch.
fn side_3d(
    array: *mut Array,
    position: Position,
    pitched: PitchedPointer,
) -> Result<(u64, u64, u64), CudaError> {
    let overflow = CudaError::INVALID_VALUE;
    let (base, pitch, height, element) = match crate::arrays::get(array) {
        Some(array) => (
            array.address,
            array.pitch_bytes,
            array.extent.height.max(1),
            array.element_bytes,
        ),
        None if !array.is_null() => return Err(CudaError::INVALID_RESOURCE_HANDLE),
        None => (
            pitched.pointer as u64,
            pitched.pitch as u64,
            pitched.height,
            1,
        ),
    };
    if base == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    let slice = pitch.checked_mul(height as u64).ok_or(overflow)?;
    let offset = (position.z as u64)
        .checked_mul(slice)
        .and_then(|z| z.checked_add((position.y as u64).checked_mul(pitch)?));
    let offset = offset
        .and_then(|offset| offset.checked_add((position.x as u64).checked_mul(element)?))
        .ok_or(overflow)?;
    Ok((base.checked_add(offset).ok_or(overflow)?, pitch, slice))
}

fn copy_3d(call: &str, parameters: *const Copy3D, stream: *mut c_void) -> CudaResult {
    // SAFETY: the program passes valid parameters or null.
    let Some(copy) = (unsafe { parameters.as_ref() }) else {
        return Err(CudaError::INVALID_VALUE);
    };
    let (to, to_pitch, to_slice) = side_3d(
        copy.destination_array,
        copy.destination_position,
        copy.destination,
    )?;
    let (from, from_pitch, from_slice) =
        side_3d(copy.source_array, copy.source_position, copy.source)?;
    // With an array on either side the width is in elements.
    let array = crate::arrays::get(copy.source_array)
        .or_else(|| crate::arrays::get(copy.destination_array));
    let bytes =
        (copy.extent.width as u64).checked_mul(array.map_or(1, |array| array.element_bytes));
    let bytes = bytes.ok_or(CudaError::INVALID_VALUE)?;
    let stream = stream_id(stream)?;
    for z in 0..copy.extent.depth as u64 {
        let rows = Rows {
            to: to + z * to_slice,
            from: from + z * from_slice,
            bytes,
            rows: copy.extent.height as u64,
            to_pitch,
            from_pitch,
        };
        copy_rows(call, rows, copy.kind, stream)?;
    }
    Ok(())
}

cuda! {
    fn cudaMemcpy3D(parameters: *const Copy3D) also cudaMemcpy3D_ptds {
        copy_3d("cudaMemcpy3D", parameters, DEFAULT_STREAM)
    }

    fn cudaMemcpy3DAsync(parameters: *const Copy3D, stream: *mut c_void) also cudaMemcpy3DAsync_ptsz {
        copy_3d("cudaMemcpy3DAsync", parameters, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn parameters_have_the_layout_of_the_headers() {
        assert_eq!(
            (
                offset_of!(Copy3D, source),
                offset_of!(Copy3D, destination_array)
            ),
            (32, 64)
        );
        assert_eq!(
            (
                offset_of!(Copy3D, extent),
                offset_of!(Copy3D, kind),
                size_of::<Copy3D>()
            ),
            (128, 152, 160)
        );
    }

    #[test]
    fn a_box_is_copied() {
        let host: Vec<u8> = (0..24).collect();
        let device = crate::memory::allocate(256, superstep_trace::AllocationKind::Device).unwrap();
        let pitched = |pointer: u64, pitch, height| PitchedPointer {
            pointer: pointer as *mut c_void,
            pitch,
            width: pitch,
            height,
        };
        let zero = Position { x: 0, y: 0, z: 0 };
        let mut copy = Copy3D {
            source_array: std::ptr::null_mut(),
            source_position: Position { x: 1, y: 1, z: 0 },
            source: pitched(host.as_ptr() as u64, 4, 3),
            destination_array: std::ptr::null_mut(),
            destination_position: zero,
            destination: pitched(device, 16, 4),
            extent: Extent {
                width: 2,
                height: 2,
                depth: 2,
            },
            kind: 1,
        };
        assert_eq!(copy_3d("test", &copy, DEFAULT_STREAM), Ok(()));
        // SAFETY: the allocation has 256 bytes.
        let bytes = unsafe { std::slice::from_raw_parts(device as *const u8, 256) };
        assert_eq!(
            [&bytes[0..3], &bytes[16..19], &bytes[64..67], &bytes[80..83]],
            [[5, 6, 0], [9, 10, 0], [17, 18, 0], [21, 22, 0]]
        );
        copy.extent.depth = 5;
        assert_eq!(
            copy_3d("test", &copy, DEFAULT_STREAM),
            Err(CudaError::INVALID_VALUE),
            "out of bounds"
        );
    }
}
