//! What programs pass for nodes of graphs.

use crate::device::devices;
use crate::errors::{CudaError, CudaResult, cuda, put};
use crate::memory;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint, c_void};
use superstep_runtime_core::cuda::Dim3;
use superstep_trace::AllocationKind;

/// `cudaKernelNodeParams`.
#[repr(C)]
pub struct KernelParameters {
    pub function: *const c_void,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared_bytes: c_uint,
    pub arguments: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

/// `cudaMemsetParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemsetParameters {
    pub address: *mut c_void,
    pub pitch: usize,
    pub value: c_uint,
    /// Bytes of an element: 1, 2 or 4.
    pub element_bytes: c_uint,
    /// Elements of a row.
    pub width: usize,
    pub height: usize,
}

/// `cudaHostNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostParameters {
    pub function: Option<unsafe extern "C" fn(*mut c_void)>,
    pub user_data: *mut c_void,
}

impl HostParameters {
    pub fn call(&self) -> CudaResult {
        let function = self.function.ok_or(CudaError::INVALID_VALUE)?;
        // SAFETY: the program asks for this call with this argument.
        unsafe { function(self.user_data) };
        Ok(())
    }
}

/// `cudaMemAllocNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// `cudaMemPoolProps`: kinds and place of the pool, which make no difference here.
    pool: [u64; 11],
    access: *const c_void,
    access_count: usize,
    pub bytes: usize,
    pub address: *mut c_void,
}

impl Allocation {
    /// Memory of the default pool.
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

/// `cudaGraphExecUpdateResultInfo`.
#[repr(C)]
pub struct UpdateResult {
    pub result: c_int,
    pub node: *mut c_void,
    pub from_node: *mut c_void,
}

/// Addresses that belong to graphs: they stay the same from launch to launch, so the memory stays, too.
static OWNED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Bytes of that memory.
fn owned_bytes() -> u64 {
    let owned = OWNED.lock();
    let found = owned.iter().filter_map(|&address| memory::find(address));
    found.map(|target| target.bytes).sum()
}

cuda! {
    /// `cudaDeviceGetGraphMemAttribute`: what graphs use, and ever used.
    fn [cudaDeviceGetGraphMemAttribute](device: c_int, _number: c_int, place: *mut u64) {
        devices::check(device)?;
        put(place, owned_bytes())
    }

    /// `cudaDeviceGraphMemTrim`: memory of graphs stays.
    fn [cudaDeviceGraphMemTrim cudaDeviceSetGraphMemAttribute](device: c_int) {
        devices::check(device)
    }
}

/// Memory for a node.
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
    memory::free(address, memory::is_device)
}

#[cfg(test)]
mod tests;
