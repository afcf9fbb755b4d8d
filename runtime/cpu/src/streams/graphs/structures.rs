//! Structures of graph nodes, and memory that belongs to graphs.

use crate::device::devices;
use crate::errors::{CudaError, CudaResult, cuda, put};
use crate::memory;
use cudarc::runtime::sys::cudaHostNodeParams;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use superstep_trace::AllocationKind;

pub fn call(host: &cudaHostNodeParams) -> CudaResult {
    let function = host.fn_.ok_or(CudaError::INVALID_VALUE)?;
    // SAFETY: the program requested this call with this argument.
    unsafe { function(host.userData) };
    Ok(())
}

/// `cudaMemAllocNodeParams`, with integers in place of enums, since a program built for another CUDA version can pass
/// unknown values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// `cudaMemPoolProps`: kinds and location of the pool, which are ignored here.
    pool: [u64; 11],
    access: *const c_void,
    access_count: usize,
    pub bytes: usize,
    pub address: *mut c_void,
}

impl Allocation {
    /// Allocates memory from the default pool.
    pub fn new(bytes: usize) -> Result<Self, CudaError> {
        Ok(Allocation {
            pool: [0; 11],
            access: std::ptr::null(),
            access_count: 0,
            bytes,
            address: allocate(bytes)?,
        })
    }
}

/// Addresses of memory that belongs to graphs. This memory is never freed, because every launch uses the same
/// addresses.
static OWNED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

cuda! {
    // `cudaDeviceGetGraphMemAttribute`: current and maximum memory in use.
    fn [cudaDeviceGetGraphMemAttribute](device: c_int, _number: c_int, place: *mut u64) {
        devices::check(device)?;
        let bytes = |&address| memory::find(address, |block| block.bytes);
        put(place, OWNED.lock().iter().filter_map(bytes).sum())
    }

    // `cudaDeviceGraphMemTrim`: does nothing, because graph memory is never freed.
    fn [cudaDeviceGraphMemTrim cudaDeviceSetGraphMemAttribute](device: c_int) {
        devices::check(device)
    }
}

pub fn allocate(bytes: usize) -> Result<*mut c_void, CudaError> {
    let address = memory::allocate(bytes, AllocationKind::Device)?;
    OWNED.lock().insert(address);
    Ok(address as *mut c_void)
}

/// Frees memory unless it belongs to a graph.
pub fn free(address: u64) -> CudaResult {
    if OWNED.lock().contains(&address) {
        return Ok(());
    }
    memory::free(address, &[AllocationKind::Device, AllocationKind::Managed])
}

#[cfg(test)]
mod tests;
