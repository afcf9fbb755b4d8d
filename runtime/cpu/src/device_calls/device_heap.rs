//! `malloc` and `free` in kernels: an arena of `cudaLimitMallocHeapSize` bytes, divided into blocks of power-of-two sizes.

use crate::mapping::Mapping;
use crate::runtime::session;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use superstep_runtime_core::AllocatedBy;
use superstep_trace::{AllocationKind, DEVICE_HEAP};

pub const DEFAULT_HEAP_BYTES: u64 = 8 << 20;
/// Size of a block's header, which contains the size class.
const HEADER_BYTES: u64 = 16;
const CLASSES: usize = 48;

static LIMIT: AtomicU64 = AtomicU64::new(DEFAULT_HEAP_BYTES);
static HEAP: OnceLock<Option<DeviceHeap>> = OnceLock::new();

struct DeviceHeap {
    memory: Mapping,
    state: Mutex<State>,
}

struct State {
    next: u64,
    /// Freed blocks by size class.
    free: [Vec<u64>; CLASSES],
}

/// Sets the size of the arena. As in CUDA, this has no effect after the first device-side `malloc`.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Returns the arena's range if it contains `address`.
pub fn range_of(address: u64) -> Option<(u64, u64)> {
    let memory = &HEAP.get()?.as_ref()?.memory;
    let (first, last) = (memory.base() as u64, memory.end() as u64);
    (first..last).contains(&address).then_some((first, last))
}

fn heap() -> Option<&'static DeviceHeap> {
    let create = || {
        let memory = Mapping::new(usize::try_from(LIMIT.load(Ordering::Relaxed)).ok()?).ok()?;
        let kind = AllocationKind::Symbol {
            name: DEVICE_HEAP.to_owned(),
        };
        let (next, bytes) = (memory.base() as u64, memory.bytes() as u64);
        session().allocate(AllocatedBy::Kernel, 0, next, bytes, kind);
        Some(DeviceHeap {
            memory,
            state: Mutex::new(State {
                next,
                free: [const { Vec::new() }; CLASSES],
            }),
        })
    };
    HEAP.get_or_init(create).as_ref()
}

/// Allocates a block; returns 0 if the arena is exhausted.
pub fn allocate(bytes: u64) -> u64 {
    block(bytes).unwrap_or(0)
}

fn block(bytes: u64) -> Option<u64> {
    let size = bytes
        .checked_add(HEADER_BYTES)?
        .checked_next_power_of_two()?;
    let class = size.trailing_zeros() as usize;
    let heap = heap()?;
    let state = &mut *heap.state.lock();
    let block = match state.free.get_mut(class)?.pop() {
        Some(block) => block,
        None if heap.memory.end() as u64 - state.next < size => return None,
        None => {
            state.next += size;
            state.next - size
        }
    };
    // SAFETY: the block is in the arena and free.
    unsafe { (block as *mut u64).write(class as u64) };
    Some(block + HEADER_BYTES)
}

/// Frees a block; returns `false` if it is not in the arena.
pub fn free(address: u64) -> bool {
    let Some(heap) = HEAP.get().and_then(Option::as_ref) else {
        return false;
    };
    let block = address.wrapping_sub(HEADER_BYTES);
    if range_of(block).is_none() || !block.is_multiple_of(HEADER_BYTES) {
        return false;
    }
    // SAFETY: the header is in the arena.
    let class = unsafe { (block as *const u64).read() };
    let free = &mut heap.state.lock().free;
    let free = free.get_mut(class as usize);
    free.map(|free| free.push(block)).is_some()
}

#[cfg(test)]
mod tests;
