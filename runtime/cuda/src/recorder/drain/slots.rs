//! Page-locked memory for the results of launches in flight. A launch waits while all slots are taken.

use crate::cuda::CudaError;
use crate::cuda::memory::Pinned;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

pub struct Slots {
    bytes: usize,
    max_slots: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: VecDeque<(usize, Pinned)>,
    count: usize,
}

/// A slot that nothing else uses until this value is dropped.
pub struct Slot {
    pub number: usize,
    memory: Pinned,
    slots: Arc<Slots>,
}

impl Slots {
    /// Prepares at most `max_slots` slots of `bytes` bytes; allocates `ready` of them immediately, and the others on
    /// demand.
    pub fn new(bytes: usize, max_slots: usize, ready: usize) -> Result<Arc<Self>, CudaError> {
        let free = (0..ready).map(|number| Ok((number, Pinned::new(bytes)?)));
        let free = free.collect::<Result<_, CudaError>>()?;
        Ok(Arc::new(Slots {
            bytes,
            max_slots,
            state: Mutex::new(State { free, count: ready }),
            changed: Condvar::new(),
        }))
    }

    pub fn take(self: &Arc<Self>) -> Result<Slot, CudaError> {
        let mut state = self.state.lock();
        let (number, memory) = loop {
            if let Some(free) = state.free.pop_front() {
                break free;
            }
            if state.count < self.max_slots {
                let number = state.count;
                state.count += 1;
                drop(state);
                break (number, Pinned::new(self.bytes)?);
            }
            self.changed.wait(&mut state);
        };
        let slots = self.clone();
        Ok(Slot {
            number,
            memory,
            slots,
        })
    }
}

impl Slot {
    /// Returns the slot's memory. A method rather than a field, so that closures that read the memory own the slot.
    pub fn memory(&self) -> Pinned {
        self.memory
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let free = (self.number, self.memory);
        self.slots.state.lock().free.push_back(free);
        self.slots.changed.notify_one();
    }
}
