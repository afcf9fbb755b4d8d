//! Tests for `copies_3d`.

use super::*;
use cudarc::runtime::sys::cudaExtent;

#[test]
fn a_box_is_copied() {
    let host: Vec<u8> = (0..24).collect();
    let device = crate::memory::allocate(256, superstep_trace::AllocationKind::Device).unwrap();
    let pitched = |pointer: u64, pitch, height| cudaPitchedPtr {
        ptr: pointer as *mut c_void,
        pitch,
        xsize: pitch,
        ysize: height,
    };
    let zero = cudaPos { x: 0, y: 0, z: 0 };
    let mut copy = Copy3d {
        source_array: std::ptr::null_mut(),
        source_position: cudaPos { x: 1, y: 1, z: 0 },
        source: pitched(host.as_ptr() as u64, 4, 3),
        destination_array: std::ptr::null_mut(),
        destination_position: zero,
        destination: pitched(device, 16, 4),
        extent: cudaExtent {
            width: 2,
            height: 2,
            depth: 2,
        },
        kind: 1,
    };
    assert_eq!(copy_3d("test", &copy, std::ptr::null_mut()), Ok(()));
    // SAFETY: the allocation is 256 bytes long.
    let bytes = unsafe { std::slice::from_raw_parts(device as *const u8, 256) };
    assert_eq!(
        [&bytes[0..3], &bytes[16..19], &bytes[64..67], &bytes[80..83]],
        [[5, 6, 0], [9, 10, 0], [17, 18, 0], [21, 22, 0]]
    );
    // The destination has room for four slices; the copy must fail before it copies the first one.
    copy.extent.depth = 5;
    assert_eq!(
        copy_3d("test", &copy, std::ptr::null_mut()),
        Err(CudaError::INVALID_VALUE),
        "out of bounds"
    );
    assert_eq!(bytes[128..], [0; 128], "nothing was copied");
}
