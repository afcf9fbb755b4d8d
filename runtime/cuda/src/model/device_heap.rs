//! Finds the heap of device-side `malloc` with a kernel that allocates the first block, since no driver function
//! returns the heap's address.

use crate::cuda::memory::{self, Pinned};
use crate::cuda::{CudaError, ask, cuda, driver};
use cudarc::runtime::sys::cudaLimit;
use std::ffi::c_void;

const PTX: &str = include_str!("../../device/heap_block.ptx");
/// The heap begins and ends at multiples of this size.
const PAGE_BYTES: u64 = 2 << 20;

/// Returns the first byte and the size of the current device's heap. Must be called before any kernel allocates.
pub fn extent() -> Result<(u64, u64), CudaError> {
    const ACTION: &str = "find the heap of device-side malloc";
    let kind = cudaLimit::cudaLimitMallocHeapSize;
    // SAFETY: the pointer points to an integer.
    let get = |limit: &mut _| unsafe { cuda!(cudaDeviceGetLimit(limit, kind)) };
    let limit = ask(ACTION, 0, get)?;
    let function = driver::load(PTX, c"__superstep_heap_block", ACTION)?;
    let answer = Pinned::new(8)?;
    let mut address = answer.device;
    let mut arguments = [(&raw mut address).cast::<c_void>()];
    memory::alone(ACTION, |stream| {
        // SAFETY: the function takes this one argument.
        unsafe { driver::launch(function, [[1; 3]; 2], 0, stream, arguments.as_mut_ptr()) }
    })?;
    // SAFETY: the allocation holds eight bytes, and the kernel that wrote to it has completed.
    let first = unsafe { answer.at::<u64>().read_volatile() };
    if first == 0 {
        return Err(CudaError::NoHeap);
    }
    Ok(around(first, limit as u64))
}

/// Returns the first byte and the size of the heap whose first block is at `first`. The heap allocates from its end
/// (observed with driver 580 on an H200).
fn around(first: u64, limit_bytes: u64) -> (u64, u64) {
    let bytes = limit_bytes.next_multiple_of(PAGE_BYTES);
    let end = first.next_multiple_of(PAGE_BYTES);
    (end.saturating_sub(bytes), bytes)
}

#[cfg(test)]
mod tests;
