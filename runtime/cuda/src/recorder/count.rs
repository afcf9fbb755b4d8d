//! The counting run's counters: one a site, in device memory, copied out after each launch.

use crate::cuda::device::{Pinned, device_context, device_words};
use crate::cuda::ffi::{self, Error, Stream};
use crate::cuda::real;
use crate::recorder::thesis::layout::{CONTEXT_VERSION, TraceContext};
use parking_lot::{Condvar, Mutex};
use std::ffi::c_void;
use std::sync::Arc;
use superstep_trace::{ModuleTable, SiteId};

/// Launches of a stream whose counts may be on their way at the same time.
const MOST_SLOTS: usize = 64;

/// The counters of one stream.
pub struct Counters {
    /// The device's address of the [`TraceContext`].
    pub context: u64,
    /// Number of modules they were made for.
    pub modules: usize,
    /// Held while a launch is put into the stream: counters are cleared, used and read by one launch after the other.
    pub submit: Mutex<()>,
    counters: u64,
    sites: Arc<Vec<SiteId>>,
    slots: Arc<Slots>,
}

/// Page-locked memory for counts; free ones, and how many were made.
#[derive(Default)]
struct Slots {
    state: Mutex<(Vec<Pinned>, usize)>,
    changed: Condvar,
}

/// The counts of one launch, on their way.
pub struct Counted {
    /// Happens when they have arrived.
    pub done: usize,
    sites: Arc<Vec<SiteId>>,
    slot: Pinned,
    slots: Arc<Slots>,
}

impl Counters {
    /// Counters for all sites of `modules`.
    pub fn new(modules: &[Arc<ModuleTable>]) -> Result<Self, String> {
        let mut sites = Vec::new();
        let rows = modules.iter().map(|module| module.module as usize + 1);
        let mut first_counter = vec![0usize; rows.max().unwrap_or(0)];
        for module in modules {
            first_counter[module.module as usize] = sites.len();
            // The device indexes with the site's local number, so a gap in the numbers needs a counter as well.
            let locals = module.sites.iter().map(|site| site.id.local() + 1);
            let locals = 0..locals.max().unwrap_or(0);
            sites.extend(locals.map(|local| SiteId(module.module << 16 | local)));
        }
        let counters = device_words(&vec![0; sites.len().max(1)])?;
        let table = first_counter
            .iter()
            .map(|&first| counters + first as u64 * 8);
        let site_counts = device_words(&table.collect::<Vec<_>>())?;
        let context = device_context(&TraceContext {
            version: CONTEXT_VERSION,
            site_counts,
            selection: crate::recorder::selection::device_selection()?,
            ..TraceContext::default()
        })?;
        Ok(Counters {
            context,
            modules: modules.len(),
            submit: Mutex::new(()),
            counters,
            sites: Arc::new(sites),
            slots: Arc::default(),
        })
    }

    fn bytes(&self) -> usize {
        self.sites.len() * 8
    }

    /// Where the counters lie on the device, and their bytes.
    pub fn memory(&self) -> (*mut c_void, usize) {
        (self.counters as *mut c_void, self.bytes())
    }

    /// Page-locked memory for a copy of them.
    pub fn slot(&self) -> Result<Pinned, String> {
        Pinned::new(self.bytes().max(8))
    }

    /// Copies them out, in stream order.
    pub fn copy_to(&self, slot: Pinned, stream: Stream) -> Error {
        let (from, bytes) = self.memory();
        let to = slot.host as *mut c_void;
        // SAFETY: the slot is as large as the counters and is nobody else's.
        unsafe { real::memcpy_async(to, from, bytes, ffi::DEVICE_TO_HOST, stream) }
    }

    pub fn read(&self, slot: Pinned) -> Vec<(SiteId, u64)> {
        read(&self.sites, slot)
    }

    /// Sets all counters to 0, in stream order.
    pub fn clear(&self, stream: Stream) -> Error {
        // SAFETY: the counters are as long as asked for.
        unsafe { real::memset_async(self.counters as *mut c_void, 0, self.bytes(), stream) }
    }

    /// Copies the counters out, in stream order; the caller then records the event `done`. Waits while too many launches are on their way.
    pub fn fetch(&self, stream: Stream, done: usize) -> Result<Counted, String> {
        if done == 0 {
            return Err(
                "failed to make the CUDA event that tells when the site counters have arrived"
                    .to_owned(),
            );
        }
        let slot = match self.slots.take() {
            Some(slot) => slot,
            None => self.slot()?,
        };
        let counted = Counted {
            done,
            sites: self.sites.clone(),
            slot,
            slots: self.slots.clone(),
        };
        match real::check(self.copy_to(slot, stream), "copy the site counters") {
            Ok(()) => Ok(counted),
            Err(error) => {
                counted.give_back();
                Err(error)
            }
        }
    }
}

impl Slots {
    /// A slot that was used before; `None` when another one may be made.
    fn take(&self) -> Option<Pinned> {
        let mut state = self.state.lock();
        loop {
            if let Some(slot) = state.0.pop() {
                return Some(slot);
            }
            if state.1 < MOST_SLOTS {
                state.1 += 1;
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}

impl Counted {
    /// Every site's count, once [`done`](Self::done) has happened.
    pub fn read(&self) -> Vec<(SiteId, u64)> {
        read(&self.sites, self.slot)
    }

    /// Lets another launch use the slot.
    pub fn give_back(self) {
        self.slots.state.lock().0.push(self.slot);
        self.slots.changed.notify_one();
    }
}

fn read(sites: &[SiteId], slot: Pinned) -> Vec<(SiteId, u64)> {
    let words = slot.host as *const u64;
    // SAFETY: the slot holds one counter a site, and the copy into it has ended.
    let counts = unsafe { std::slice::from_raw_parts(words, sites.len()) };
    sites.iter().copied().zip(counts.iter().copied()).collect()
}
