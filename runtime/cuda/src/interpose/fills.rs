//! Fills by the host, through both of CUDA's APIs.

use super::interposed;
use crate::cuda::{Status, StreamArgument};
use crate::recorder::host_access::{Rows, note_fill};
use cudarc::runtime::sys::{cudaExtent, cudaPitchedPtr};
use std::ffi::{c_int, c_uint, c_void};

/// Notes a successful fill. The capture has one byte for the value, like the runtime's fill functions.
fn filled(
    status: Status,
    memory: Rows,
    value: u8,
    size: [usize; 3],
    into: StreamArgument,
) -> Status {
    if status.is_success() {
        note_fill(memory, value, size, into);
    }
    status
}

fn rows(memory: *mut c_void, pitch: usize) -> Rows {
    Rows::new(memory as u64, pitch)
}

fn elements<T>(status: Status, to: u64, value: u8, count: usize, into: StreamArgument) -> Status {
    let size = [count * size_of::<T>(), 1, 1];
    filled(status, Rows::new(to, 0), value, size, into)
}

interposed! { in_stream:
    [cudaMemset, cudaMemset_ptds: true] [cudaMemsetAsync, cudaMemsetAsync_ptsz: true](
        memory: *mut c_void, value: c_int, bytes: usize,
    ) |real, into| { filled(real(), rows(memory, 0), value as u8, [bytes, 1, 1], into) }

    [cudaMemset2D, cudaMemset2D_ptds: true] [cudaMemset2DAsync, cudaMemset2DAsync_ptsz: true](
        memory: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize,
    ) |real, into| { filled(real(), rows(memory, pitch), value as u8, [width, height, 1], into) }

    [cudaMemset3D, cudaMemset3D_ptds: true] [cudaMemset3DAsync, cudaMemset3DAsync_ptsz: true](
        memory: cudaPitchedPtr, value: c_int, extent: cudaExtent,
    ) |real, into| {
        let rows = Rows::within(memory.ptr as u64, [0; 3], [memory.pitch, memory.ysize]);
        filled(real(), rows, value as u8, [extent.width, extent.height, extent.depth], into)
    }
}

interposed! { driver in_stream:
    [cuMemsetD8_v2, cuMemsetD8_v2_ptds: true] [cuMemsetD8Async, cuMemsetD8Async_ptsz: true](to: u64, value: u8, count: usize)
    |real, into| { elements::<u8>(real(), to, value, count, into) }

    [cuMemsetD16_v2, cuMemsetD16_v2_ptds: true] [cuMemsetD16Async, cuMemsetD16Async_ptsz: true](to: u64, value: u16, count: usize)
    |real, into| { elements::<u16>(real(), to, value as u8, count, into) }

    [cuMemsetD32_v2, cuMemsetD32_v2_ptds: true] [cuMemsetD32Async, cuMemsetD32Async_ptsz: true](to: u64, value: c_uint, count: usize)
    |real, into| { elements::<u32>(real(), to, value as u8, count, into) }
}
