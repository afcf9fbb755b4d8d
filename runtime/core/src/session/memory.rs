//! The host's allocations, copies and fills.

use super::{AllocatedBy, Live, Output, Session, caller};
use crate::in_situ::entry::Entry;
use superstep_trace::{
    Allocation, AllocationId, AllocationKind, CopyDirection, Event, Gap, HostCopy, HostMemset,
    StreamId,
};

impl Session {
    pub fn allocate(
        &self,
        by: AllocatedBy,
        device: i32,
        address: u64,
        bytes: u64,
        kind: AllocationKind,
    ) -> AllocationId {
        let wants_place = by == AllocatedBy::Caller && self.config.capture.is_some();
        let place = wants_place.then(caller::place).flatten();
        let mut state = self.state.lock();
        let sequence = match by {
            AllocatedBy::Kernel => state.latest_launch.saturating_sub(1),
            AllocatedBy::Module | AllocatedBy::Caller => state.sequence(),
        };
        let id = AllocationId(state.next_allocation);
        state.next_allocation += 1;
        state.live.insert(address, Live { id, device, bytes });
        if let Some(shadow) = &self.shadow {
            shadow.allocate(address, bytes, &kind);
        }
        let event = Event::Allocate(Allocation {
            sequence,
            id,
            address,
            bytes,
            kind,
            place,
            device: device.unsigned_abs(),
            ..Allocation::default()
        });
        // Before `main`, it is unknown whether this process or a fork of it will run the kernels.
        match (by, &state.capture) {
            (AllocatedBy::Module, Output::Unopened) => state.early.push(event),
            _ => self.event(&mut state, &event),
        }
        id
    }

    pub fn is_allocated(&self, address: u64) -> bool {
        self.state.lock().live.contains_key(&address)
    }

    /// Returns how many of the `bytes` bytes at `address` precede the next allocation; 0 inside an allocation.
    pub fn room(&self, address: u64, bytes: u64) -> u64 {
        let state = self.state.lock();
        let before = state.live.range(..=address).next_back();
        if before.is_some_and(|(start, live)| address - start < live.bytes) {
            return 0;
        }
        let next = state.live.range(address..).next();
        next.map_or(bytes, |(start, _)| bytes.min(start - address))
    }

    /// Records that this process shares memory with another one.
    pub fn shares_memory(&self) {
        let mut state = self.state.lock();
        if !std::mem::replace(&mut state.shares_memory, true) {
            self.event(&mut state, &Event::Gap(Gap::SharedMemory));
        }
    }

    /// Records that the allocation at `address` was freed. Returns `None` if there is none.
    pub fn free(&self, address: u64) -> Option<AllocationId> {
        let mut state = self.state.lock();
        let Live { id, bytes, .. } = state.live.remove(&address)?;
        if let Some(shadow) = &self.shadow {
            shadow.free(address, bytes);
        }
        let sequence = state.sequence();
        self.event(&mut state, &Event::Free { sequence, id });
        Some(id)
    }

    pub fn free_all(&self, device: i32) {
        let live = self.state.lock().live.clone();
        for (address, allocation) in live {
            if allocation.device == device {
                self.free(address);
            }
        }
    }

    pub fn copy(
        &self,
        direction: CopyDirection,
        destination: u64,
        source: u64,
        bytes: u64,
        stream: StreamId,
    ) {
        self.host_wrote(destination, bytes);
        self.numbered(|sequence| {
            Event::Copy(HostCopy {
                sequence,
                direction,
                destination,
                source,
                bytes,
                stream,
            })
        });
    }

    pub fn memset(&self, address: u64, bytes: u64, value: u8, stream: StreamId) {
        self.host_wrote(address, bytes);
        self.numbered(|sequence| {
            Event::Memset(HostMemset {
                sequence,
                address,
                bytes,
                value,
                stream,
            })
        });
    }

    fn host_wrote(&self, address: u64, bytes: u64) {
        if let Some(shadow) = &self.shadow {
            shadow.set(address, bytes, Entry::HOST);
        }
    }
}
