//! Page-locked memory for the results of launches in flight. A launch waits while all slots are taken.

use crate::cuda::CudaError;
use crate::cuda::memory::Pinned;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

pub struct Slots {
    bytes: usize,
    most: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    free: VecDeque<(usize, Pinned)>,
    made: usize,
}

/// A slot that nothing else uses, until it is dropped.
pub struct Slot {
    pub number: usize,
    memory: Pinned,
    slots: Arc<Slots>,
}

impl Slots {
    /// Prepares at most `most` slots of `bytes` bytes; allocates `ready` of them at once, and others when they are needed.
    pub fn new(bytes: usize, most: usize, ready: usize) -> Result<Arc<Self>, CudaError> {
        let free = (0..ready).map(|number| Ok((number, Pinned::new(bytes)?)));
        let free = free.collect::<Result<_, CudaError>>()?;
        Ok(Arc::new(Slots {
            bytes,
            most,
            state: Mutex::new(State { free, made: ready }),
            changed: Condvar::new(),
        }))
    }

    pub fn take(self: &Arc<Self>) -> Result<Slot, CudaError> {
        let mut state = self.state.lock();
        let (number, memory) = loop {
            if let Some(free) = state.free.pop_front() {
                break free;
            }
            if state.made < self.most {
                let number = state.made;
                state.made += 1;
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
