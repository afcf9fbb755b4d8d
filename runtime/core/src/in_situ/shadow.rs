//! Shadow memory, and the host's updates to it.

use super::entry::Entry;
use super::page::{PAGE_BYTES, Page};
use super::untraced::Untraced;
use super::{Running, TooMany};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use superstep_trace::{AllocationKind, CtaBlocks, Launch};

/// The last writer of each byte of the program's memory.
#[derive(Default)]
pub struct Shadow {
    memory: RwLock<Memory>,
    kernels: RwLock<Kernels>,
    blocks: CtaBlocks,
}

#[derive(Default)]
struct Kernels {
    numbers: FxHashMap<String, u32>,
    /// Kernel of each launch; launches are numbered from 1.
    by_launch: FxHashMap<u32, u32>,
}

#[derive(Default)]
struct Memory {
    /// Pages by number, each created when a launch first accesses it.
    pages: FxHashMap<u64, Arc<Mutex<Page>>>,
    /// Last writers of the bytes in pages that do not exist yet.
    untraced: Untraced,
    /// Live allocations: first byte → one past the last.
    live: BTreeMap<u64, u64>,
}

impl Shadow {
    pub fn new(blocks: CtaBlocks) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }

    pub fn allocate(&self, address: u64, bytes: u64, kind: &AllocationKind) {
        let end = address.saturating_add(bytes);
        let memory = &mut *self.memory.write();
        memory.remove_live(address, end);
        if bytes > 0 {
            memory.live.insert(address, end);
        }
        // The host can write to these kinds of memory without an API call.
        let entry = match kind {
            AllocationKind::Managed
            | AllocationKind::Pinned
            | AllocationKind::Imported
            | AllocationKind::Symbol { .. } => Entry::HOST,
            AllocationKind::Device | AllocationKind::Array => Entry::UNWRITTEN,
        };
        memory.set(address, end, entry);
    }

    pub fn free(&self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let memory = &mut *self.memory.write();
        memory.remove_live(address, end);
        memory.set(address, end, Entry::UNWRITTEN);
    }

    pub fn unknown_wrote_all(&self) {
        let memory = &mut *self.memory.write();
        for (address, end) in memory.live.clone() {
            memory.set(address, end, Entry::UNKNOWN);
        }
    }

    /// Records the writer of a range.
    pub fn set(&self, address: u64, bytes: u64, entry: Entry) {
        let end = address.saturating_add(bytes);
        self.memory.write().set(address, end, entry);
    }

    /// Begins launch `number`, counted from 0 across all streams.
    pub fn begin(&self, number: u32, launch: &Launch) -> Result<Running, TooMany> {
        let Kernels { numbers, by_launch } = &mut *self.kernels.write();
        let next = numbers.len() as u32;
        let kernel = *numbers.entry(launch.kernel.clone()).or_insert(next);
        let running = Running::new(number, kernel, launch, self.blocks)?;
        by_launch.insert(running.launch, kernel);
        Ok(running)
    }

    /// Returns the kernel of a launch; launches are numbered from 1.
    pub(super) fn kernel_of(&self, launch: u32) -> Option<u32> {
        self.kernels.read().by_launch.get(&launch).copied()
    }

    pub(super) fn page(&self, number: u64) -> Arc<Mutex<Page>> {
        if let Some(page) = self.memory.read().pages.get(&number) {
            return page.clone();
        }
        let memory = &mut *self.memory.write();
        let page = memory.pages.entry(number).or_insert_with(|| {
            let first = number * PAGE_BYTES;
            let mut page = Page::new();
            let past = first.saturating_add(PAGE_BYTES);
            for (start, end, entry) in memory.untraced.parts(first, past) {
                page.fill(start - first, end - first, entry);
            }
            Arc::new(Mutex::new(page))
        });
        page.clone()
    }
}

impl Memory {
    fn set(&mut self, start: u64, end: u64, entry: Entry) {
        if start >= end {
            return;
        }
        self.untraced.set(start, end, entry);
        let (first, last) = (start / PAGE_BYTES, (end - 1) / PAGE_BYTES);
        // Drop pages that are covered completely.
        if last - first > self.pages.len() as u64 {
            self.pages
                .retain(|number, _| *number <= first || *number >= last);
        } else {
            (first + 1..last).for_each(|number| drop(self.pages.remove(&number)));
        }
        for number in [first, last] {
            let base = number * PAGE_BYTES;
            let (from, to) = (start.max(base) - base, (end - base).min(PAGE_BYTES));
            if from == 0 && to == PAGE_BYTES {
                self.pages.remove(&number);
            } else if let Some(page) = self.pages.get(&number) {
                page.lock().fill(from, to, entry);
            }
        }
    }

    fn remove_live(&mut self, start: u64, end: u64) {
        self.live
            .retain(|&at, &mut past| past <= start || at >= end);
    }
}
