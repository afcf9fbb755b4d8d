//! Memory that other processes share through CUDA IPC or mapped handles (NVSHMEM and NCCL).

use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use superstep_trace::AllocationKind;

#[derive(Default)]
pub struct Imported(Mutex<State>);

#[derive(Default)]
struct State {
    /// How often the memory at each address has been opened and not yet closed, even if `cudaFree` has freed it.
    opened: HashMap<u64, u32>,
    /// Handles of other processes' memory.
    handles: HashSet<u64>,
    /// Addresses of mappings.
    mapped: BTreeSet<u64>,
}

impl Imported {
    pub fn add_handle(&self, handle: u64) {
        self.0.lock().handles.insert(handle);
    }

    /// Forgets a handle, since the driver may reuse its number.
    pub fn release(&self, handle: u64) {
        self.0.lock().handles.remove(&handle);
    }

    /// Records that memory was opened at `address`, which is the same every time the memory is opened. `is_known` means
    /// that the memory is already recorded as allocated.
    pub fn opened(&self, address: u64, is_known: bool) {
        let mut state = self.0.lock();
        let count = state.opened.entry(address).or_insert(0);
        *count = if is_known { *count + 1 } else { 1 };
    }

    /// Records that the program closes the memory at `address`; returns whether the memory is no longer open.
    pub fn closed(&self, address: u64) -> bool {
        let mut state = self.0.lock();
        let Some(count) = state.opened.get_mut(&address) else {
            return false;
        };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            state.opened.remove(&address);
        }
        is_last
    }

    /// Records a mapping; returns the kind of its memory, which tells whether it belongs to this process or to another.
    pub fn mapped(&self, address: u64, handle: u64) -> AllocationKind {
        let mut state = self.0.lock();
        state.mapped.insert(address);
        if state.handles.contains(&handle) {
            AllocationKind::Imported
        } else {
            AllocationKind::Device
        }
    }

    pub fn unmapped(&self, address: u64, bytes: u64) -> Vec<u64> {
        let mut state = self.0.lock();
        let range = address..address.saturating_add(bytes);
        let removed: Vec<u64> = state.mapped.range(range).copied().collect();
        for start in &removed {
            state.mapped.remove(start);
        }
        removed
    }
}
