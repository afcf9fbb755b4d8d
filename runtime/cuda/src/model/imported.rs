//! Memory of other processes: CUDA IPC, and handles that are mapped (NVSHMEM and NCCL do that).

use crate::cuda::driver;
use crate::cuda::ffi;
use crate::recorder::runtime::Runtime;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use superstep_trace::AllocationKind;

#[derive(Default)]
pub struct Imported(Mutex<State>);

#[derive(Default)]
struct State {
    /// How often the memory at an address was opened. What `cudaFree` gave back is still here.
    opened: HashMap<u64, u32>,
    /// Of memory of other processes.
    handles: HashSet<u64>,
    /// First bytes of what was mapped.
    mapped: BTreeSet<u64>,
}

impl Imported {
    /// A handle of memory of another process.
    pub fn add_handle(&self, handle: u64) {
        self.0.lock().handles.insert(handle);
    }

    /// The driver may give the handle's number to other memory.
    pub fn release(&self, handle: u64) {
        self.0.lock().handles.remove(&handle);
    }
}

impl Runtime {
    /// The program has opened memory of another process, up to the end of the allocation that it lies in there. Opening it again
    /// answers the same address.
    pub fn opened(&self, address: u64) {
        self.session.shares_memory();
        let is_there = self.session.is_allocated(address);
        let mut state = self.imported.0.lock();
        let count = state.opened.entry(address).or_insert(0);
        *count = if is_there { *count + 1 } else { 1 };
        if is_there {
            return;
        }
        drop(state);
        let (mut start, mut bytes) = (0, 0);
        // SAFETY: both pointers lead to numbers.
        let error = unsafe { driver::address_range(&mut start, &mut bytes, address) };
        if error != ffi::SUCCESS {
            return self.session.warning(format!(
                "failed to find the size of the memory of another process at {address:#x} (CUDA error {error}); accesses there count as \
                 outside of every allocation"
            ));
        }
        let bytes = (start + bytes as u64).saturating_sub(address);
        // Small allocations share one block there, of which each handle maps all.
        let room = self.session.room(address, bytes);
        if room > 0 {
            self.allocated(address, room, AllocationKind::Imported);
        }
    }

    /// The program gives back what it has opened.
    pub fn closed(&self, address: u64) {
        let mut state = self.imported.0.lock();
        let Some(count) = state.opened.get_mut(&address) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            state.opened.remove(&address);
            drop(state);
            self.freed(address);
        }
    }

    /// The program has mapped memory of its own or of another process.
    pub fn mapped(&self, address: u64, bytes: u64, handle: u64) {
        let mut state = self.imported.0.lock();
        let kind = match state.handles.contains(&handle) {
            true => AllocationKind::Imported,
            false => AllocationKind::Device,
        };
        state.mapped.insert(address);
        drop(state);
        self.allocated(address, bytes, kind);
    }

    /// Everything that was mapped in these bytes is gone.
    pub fn unmapped(&self, address: u64, bytes: u64) {
        let mut state = self.imported.0.lock();
        let range = address..address.saturating_add(bytes);
        let gone: Vec<u64> = state.mapped.range(range).copied().collect();
        for start in &gone {
            state.mapped.remove(start);
        }
        drop(state);
        for start in gone {
            self.freed(start);
        }
    }
}
