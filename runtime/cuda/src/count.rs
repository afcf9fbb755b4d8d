//! The counting run's counters: one a site, in device memory, copied out after each launch.

use crate::device::{Pinned, device_context, device_words};
use crate::ffi::{self, Error, Stream};
use crate::layout::{CONTEXT_VERSION, TraceContext};
use crate::real;
use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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

#[derive(Default)]
struct Slots {
    free: Mutex<Vec<Pinned>>,
    made: Mutex<usize>,
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
    ///
    /// # Errors
    /// What the runtime says.
    pub fn new(modules: &[Arc<ModuleTable>]) -> Result<Self, String> {
        let mut sites = Vec::new();
        let rows = modules
            .iter()
            .map(|module| module.module as usize + 1)
            .max()
            .unwrap_or(0);
        let mut first_counter = vec![0usize; rows];
        for module in modules {
            first_counter[module.module as usize] = sites.len();
            // The device indexes with the site's local number, so a gap in the numbers needs a counter as well.
            let locals = module
                .sites
                .iter()
                .map(|site| site.id.local() + 1)
                .max()
                .unwrap_or(0);
            sites.extend((0..locals).map(|local| SiteId(module.module << 16 | local)));
        }
        let counters = device_words(&vec![0; sites.len().max(1)])?;
        let table: Vec<u64> = first_counter
            .iter()
            .map(|&first| counters + first as u64 * 8)
            .collect();
        let site_counts = device_words(&table)?;
        let context = device_context(&TraceContext {
            version: CONTEXT_VERSION,
            site_counts,
            selection: crate::selection::device_selection(crate::runtime::runtime().session)?,
            ..TraceContext::default()
        })?;
        let (sites, slots) = (Arc::new(sites), Arc::default());
        Ok(Counters {
            context,
            modules: modules.len(),
            submit: Mutex::new(()),
            counters,
            sites,
            slots,
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
    ///
    /// # Errors
    /// What the runtime says.
    pub fn slot(&self) -> Result<Pinned, String> {
        Pinned::new(self.bytes().max(8))
    }

    /// Copies them out, in stream order.
    pub fn copy_to(&self, slot: Pinned, stream: Stream) -> Error {
        let (from, bytes) = self.memory();
        // SAFETY: the slot is as large as the counters and is nobody else's.
        unsafe {
            real::memcpy_async(
                slot.host as *mut c_void,
                from,
                bytes,
                ffi::DEVICE_TO_HOST,
                stream,
            )
        }
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
    ///
    /// # Errors
    /// What the runtime says.
    pub fn fetch(&self, stream: Stream, done: usize) -> Result<Counted, String> {
        if done == 0 {
            return Err(
                "failed to make the CUDA event that tells when the site counters have arrived"
                    .to_owned(),
            );
        }
        let slot = self.slots.take(self.bytes())?;
        let counted = Counted {
            done,
            sites: self.sites.clone(),
            slot,
            slots: self.slots.clone(),
        };
        // SAFETY: the slot is as large as the counters and is nobody else's.
        let error = unsafe {
            let (to, from) = (slot.host as *mut c_void, self.counters as *const c_void);
            real::memcpy_async(to, from, self.bytes(), ffi::DEVICE_TO_HOST, stream)
        };
        match real::check(error, "copy the site counters") {
            Ok(()) => Ok(counted),
            Err(error) => {
                counted.give_back();
                Err(error)
            }
        }
    }
}

impl Slots {
    fn take(&self, bytes: usize) -> Result<Pinned, String> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(slot) = free.pop() {
                return Ok(slot);
            }
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            if *made < MOST_SLOTS {
                *made += 1;
                drop(made);
                drop(free);
                return Pinned::new(bytes.max(8));
            }
            drop(made);
            free = self
                .changed
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
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
        self.slots
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self.slot);
        self.slots.changed.notify_one();
    }
}

fn read(sites: &[SiteId], slot: Pinned) -> Vec<(SiteId, u64)> {
    let words = slot.host as *const u64;
    // SAFETY: the slot holds one counter a site, and the copy into it has ended.
    let counts = unsafe { std::slice::from_raw_parts(words, sites.len()) };
    sites.iter().copied().zip(counts.iter().copied()).collect()
}
