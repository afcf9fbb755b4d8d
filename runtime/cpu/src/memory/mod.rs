//! The program's device memory: `cudaMalloc` and its variants, and address lookups.

pub mod arrays;
pub mod copies;
pub mod copies_3d;
pub mod heap;
pub mod memset;
pub mod pools;
pub mod ranges;
pub mod symbols;

use crate::device::devices;
use crate::errors::{CudaError, CudaResult, check_not_null, check_sticky, cuda, fail_if, put};
use crate::mapping::PAGE_BYTES;
use crate::memory::heap::{Block, Heap, Relation};
use crate::memory::ranges::Ranges;
use crate::runtime::session;
use crate::streams::graphs;
use cudarc::runtime::sys::{cudaExtent, cudaMemoryType, cudaPitchedPtr, cudaPointerAttributes};
use parking_lot::Mutex;
use std::ffi::{c_uint, c_void};
use std::sync::{Arc, LazyLock};
use superstep_runtime_core::AllocatedBy;
use superstep_trace::AllocationKind;

/// Alignment of the rows of pitched memory, as on current GPUs.
const PITCH_BYTES: usize = 512;

#[derive(Default)]
struct Memory {
    heap: Heap,
    /// Ranges of global memory; `None` after a change.
    ranges: Option<Arc<Ranges>>,
}

static MEMORY: LazyLock<Mutex<Memory>> = LazyLock::new(Mutex::default);

/// Passes the block that contains `address` to `read`, which must not call into this module.
pub fn find<T>(address: u64, read: impl FnOnce(&Block) -> T) -> Option<T> {
    MEMORY.lock().heap.find(address).map(read)
}

/// Adds memory that the program owns, such as variables; returns `false` if it overlaps other memory.
pub fn register(address: u64, bytes: u64, kind: AllocationKind, is_global: bool) -> bool {
    let mut memory = MEMORY.lock();
    memory.ranges = None;
    memory.heap.register(address, bytes, kind, is_global)
}

pub fn ranges() -> Arc<Ranges> {
    let Memory { heap, ranges } = &mut *MEMORY.lock();
    let global = || {
        let blocks = heap.iter().filter(|block| block.is_global);
        Ranges::new(blocks.map(|block| (block.address, block.end())).collect())
    };
    ranges.get_or_insert_with(|| Arc::new(global())).clone()
}

/// Returns whether `address` is in the memory that a GPU maps past the end of an allocation.
pub fn is_in_tail(address: u64) -> bool {
    MEMORY.lock().heap.is_in_tail(address)
}

/// If `address` is in the memory that a GPU maps past the end of an allocation, makes that memory accessible; otherwise
/// returns `false`.
pub fn open_tail(address: u64) -> bool {
    MEMORY.lock().heap.open_tail(address)
}

/// Distance in bytes beyond which an allocation is considered unrelated to an address.
const NEAR_BYTES: u64 = 1 << 32;

pub fn locate(address: u64) -> String {
    if address < PAGE_BYTES as u64 {
        return "a null pointer or a small integer in place of a pointer".to_owned();
    }
    let memory = MEMORY.lock();
    let location = memory.heap.locate(address);
    let near = location.filter(|location| match location.relation {
        Relation::Inside | Relation::Freed => true,
        Relation::After(distance) | Relation::Before(distance) => distance <= NEAR_BYTES,
    });
    near.map_or_else(
        || "far from any allocation".to_owned(),
        |near| near.to_string(),
    )
}

/// Returns the machine's physical memory in bytes, which programs see as the device's memory.
pub fn total_bytes() -> u64 {
    // SAFETY: `sysconf` only returns an integer.
    let query = |name| u64::try_from(unsafe { libc::sysconf(name) }).unwrap_or(0);
    query(libc::_SC_PHYS_PAGES) * query(libc::_SC_PAGESIZE)
}

/// Allocates `bytes` and records the allocation; 0 bytes yield address 0.
pub fn allocate(bytes: usize, kind: AllocationKind) -> Result<u64, CudaError> {
    check_sticky()?;
    if bytes == 0 {
        return Ok(0);
    }
    let mut memory = MEMORY.lock();
    let bytes = bytes as u64;
    let sum = memory.heap.live_bytes.checked_add(bytes);
    if sum.is_none_or(|sum| sum > total_bytes()) {
        return Err(CudaError::MEMORY_ALLOCATION);
    }
    let address = memory.heap.allocate(bytes, kind.clone());
    let address = address.ok_or(CudaError::MEMORY_ALLOCATION)?;
    memory.ranges = None;
    let (by, device) = (AllocatedBy::Caller, devices::current());
    session().allocate(by, device, address, bytes, kind);
    Ok(address)
}

/// Frees memory from [`allocate`] if its kind is one of `kinds`.
pub fn free(address: u64, kinds: &[AllocationKind]) -> CudaResult {
    check_sticky()?;
    let may_free = |block: &Block| !block.is_registered() && kinds.contains(&block.kind);
    if address == 0 || free_block(address, may_free) {
        return Ok(());
    }
    session().warning(format_args!(
        "the program frees address {address:#x}, where no allocation of the right kind starts: {}",
        locate(address)
    ));
    Err(CudaError::INVALID_VALUE)
}

/// Frees the block at `address` if `accept` returns `true` for it; returns whether it was freed.
fn free_block(address: u64, accept: impl Fn(&Block) -> bool) -> bool {
    let mut memory = MEMORY.lock();
    let is_accepted = memory.heap.block_at(address).is_some_and(accept);
    if is_accepted {
        memory.heap.free(address);
        memory.ranges = None;
        pools::freed(address);
        session().free(address);
    }
    is_accepted
}

pub fn reset() {
    let mut memory = MEMORY.lock();
    for address in memory.heap.clear() {
        session().free(address);
    }
    memory.ranges = None;
}

pub fn pitch_of(width: usize) -> Result<usize, CudaError> {
    width
        .checked_next_multiple_of(PITCH_BYTES)
        .ok_or(CudaError::MEMORY_ALLOCATION)
}

fn allocate_into(place: *mut *mut c_void, bytes: usize, kind: AllocationKind) -> CudaResult {
    check_not_null(place)?;
    put(place, allocate(bytes, kind)? as *mut c_void)
}

fn device_pointer(host: *mut c_void) -> Result<*mut c_void, CudaError> {
    check_sticky()?;
    // Host and device share one address space.
    match find(host as u64, Block::is_host) {
        Some(true) => Ok(host),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

fn attributes_of(pointer: *const c_void) -> cudaPointerAttributes {
    use cudaMemoryType::*;
    let pointer = pointer.cast_mut();
    let null = std::ptr::null_mut();
    let found = find(pointer as u64, |block| {
        let device = block.device;
        match block.kind {
            AllocationKind::Pinned => (cudaMemoryTypeHost, device, pointer, pointer),
            AllocationKind::Managed => (cudaMemoryTypeManaged, device, pointer, pointer),
            _ => (cudaMemoryTypeDevice, device, pointer, null),
        }
    });
    let unknown = (cudaMemoryTypeUnregistered, -2, null, pointer);
    let (type_, device, devicePointer, hostPointer) = found.unwrap_or(unknown);
    cudaPointerAttributes {
        type_,
        device,
        devicePointer,
        hostPointer,
    }
}

cuda! {
    fn [cudaMalloc](pointer: *mut *mut c_void, bytes: usize) {
        allocate_into(pointer, bytes, AllocationKind::Device)
    }

    fn [cudaMallocManaged](pointer: *mut *mut c_void, bytes: usize) {
        fail_if(bytes == 0, CudaError::INVALID_VALUE)?;
        allocate_into(pointer, bytes, AllocationKind::Managed)
    }

    fn [cudaMallocHost cudaHostAlloc](pointer: *mut *mut c_void, bytes: usize) {
        allocate_into(pointer, bytes, AllocationKind::Pinned)
    }

    fn [cudaFree](pointer: *mut c_void) {
        graphs::free_in(std::ptr::null_mut(), pointer as u64)
    }

    fn [cudaFreeAsync cudaFreeAsync_ptsz](pointer: *mut c_void, stream: *mut c_void) {
        graphs::free_in(stream, pointer as u64)
    }

    fn [cudaFreeHost](pointer: *mut c_void) {
        free(pointer as u64, &[AllocationKind::Pinned])
    }

    fn [cudaHostRegister](pointer: *mut c_void, bytes: usize) {
        check_sticky()?;
        fail_if(pointer.is_null() || bytes == 0, CudaError::INVALID_VALUE)?;
        let (address, bytes) = (pointer as u64, bytes as u64);
        fail_if(!register(address, bytes, AllocationKind::Pinned, true), CudaError::HOST_MEMORY_ALREADY_REGISTERED)?;
        session().allocate(AllocatedBy::Caller, 0, address, bytes, AllocationKind::Pinned);
        Ok(())
    }

    fn [cudaHostUnregister](pointer: *mut c_void) {
        check_sticky()?;
        let was_registered = free_block(pointer as u64, Block::is_registered);
        fail_if(!was_registered, CudaError::HOST_MEMORY_NOT_REGISTERED)
    }

    fn [cudaHostGetDevicePointer](device: *mut *mut c_void, host: *mut c_void) {
        put(device, device_pointer(host)?)
    }

    // `cudaHostGetFlags`: this runtime always maps pinned memory.
    fn [cudaHostGetFlags](flags: *mut c_uint, host: *mut c_void) {
        device_pointer(host)?;
        put(flags, 2)
    }

    fn [cudaMallocPitch](pointer: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        let row = pitch_of(width)?;
        let bytes = row.checked_mul(height).ok_or(CudaError::MEMORY_ALLOCATION)?;
        put(pitch, row)?;
        allocate_into(pointer, bytes, AllocationKind::Device)
    }

    fn [cudaMalloc3D](pointer: *mut cudaPitchedPtr, extent: cudaExtent) {
        check_not_null(pointer)?;
        let pitch = pitch_of(extent.width)?;
        let rows = extent.height.checked_mul(extent.depth);
        let bytes = rows.and_then(|rows| rows.checked_mul(pitch)).ok_or(CudaError::MEMORY_ALLOCATION)?;
        let address = allocate(bytes, AllocationKind::Device)?;
        put(pointer, cudaPitchedPtr { ptr: address as *mut c_void, pitch, xsize: extent.width, ysize: extent.height })
    }

    fn [cudaMemGetInfo](free: *mut usize, total: *mut usize) {
        check_sticky()?;
        let all = total_bytes();
        put(free, all.saturating_sub(MEMORY.lock().heap.live_bytes) as usize)?;
        put(total, all as usize)
    }

    fn [cudaPointerGetAttributes](attributes: *mut cudaPointerAttributes, pointer: *const c_void) {
        check_sticky()?;
        put(attributes, attributes_of(pointer))
    }
}

#[cfg(test)]
mod tests;
