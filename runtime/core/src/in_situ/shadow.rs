//! Shadow memory, and what the host does to it.

use super::entry::Entry;
use super::kernels::Kernels;
use super::page::{PAGE_BYTES, Page};
use super::untraced::Untraced;
use super::{Running, TooMany};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use superstep_trace::{AllocationKind, CtaBlocks, Launch};

/// Who wrote each byte of the program's memory last. All methods may be called from any thread.
#[derive(Default)]
pub struct Shadow {
    memory: RwLock<Memory>,
    pub(super) kernels: Kernels,
    blocks: CtaBlocks,
}

#[derive(Default)]
struct Memory {
    /// By address in pages; made when a launch accesses them.
    pages: FxHashMap<u64, Arc<Mutex<Page>>>,
    /// What the pages say that are not there.
    untraced: Untraced,
    /// Allocations: first byte → one past the last.
    live: BTreeMap<u64, u64>,
}

impl Shadow {
    /// With transfers between `blocks`.
    pub fn new(blocks: CtaBlocks) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }

    /// Memory came to life.
    pub fn allocate(&self, address: u64, bytes: u64, kind: &AllocationKind) {
        let end = address.saturating_add(bytes);
        let memory = &mut *self.memory.write();
        memory.remove_live(address, end);
        if bytes > 0 {
            memory.live.insert(address, end);
        }
        // Where the host needs no call to write, what kernels find and did not write themselves came from it.
        let entry = match kind {
            AllocationKind::Managed
            | AllocationKind::Pinned
            | AllocationKind::Imported
            | AllocationKind::Symbol { .. } => Entry::HOST,
            AllocationKind::Device | AllocationKind::Array => Entry::NOBODY,
        };
        memory.set(address, end, entry);
    }

    /// Nobody has written these bytes.
    pub fn forget(&self, address: u64, bytes: u64) {
        self.set(address, bytes, Entry::NOBODY);
    }

    pub fn free(&self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let memory = &mut *self.memory.write();
        memory.remove_live(address, end);
        memory.set(address, end, Entry::NOBODY);
    }

    /// A copy or a memset.
    pub fn host_wrote(&self, address: u64, bytes: u64) {
        self.set(address, bytes, Entry::HOST);
    }

    /// Code that is not traced may have written these bytes.
    pub fn unknown_wrote(&self, address: u64, bytes: u64) {
        self.set(address, bytes, Entry::UNKNOWN);
    }

    /// Code that is not traced may have written to any allocation.
    pub fn unknown_wrote_all(&self) {
        let memory = &mut *self.memory.write();
        for (address, end) in memory.live.clone() {
            memory.set(address, end, Entry::UNKNOWN);
        }
    }

    fn set(&self, address: u64, bytes: u64, entry: Entry) {
        let end = address.saturating_add(bytes);
        self.memory.write().set(address, end, entry);
    }

    /// A launch begins; `number` is its position among all of the program's launches, from 0.
    ///
    /// # Errors
    /// [`TooMany`].
    pub fn begin(&self, number: u32, launch: &Launch) -> Result<Running, TooMany> {
        let kernel = self.kernels.number(&launch.kernel);
        let running = Running::new(number, kernel, launch, self.blocks)?;
        self.kernels.set(running.launch, kernel);
        Ok(running)
    }

    /// The page with number `number`.
    pub(super) fn page(&self, number: u64) -> Arc<Mutex<Page>> {
        if let Some(page) = self.memory.read().pages.get(&number) {
            return page.clone();
        }
        let Memory {
            pages, untraced, ..
        } = &mut *self.memory.write();
        let page = pages.entry(number).or_insert_with(|| {
            let first = number * PAGE_BYTES;
            let mut page = Page::new();
            for (start, end, entry) in untraced.parts(first, first.saturating_add(PAGE_BYTES)) {
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
        // Of what is covered as a whole, nothing is left to know.
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
            .retain(|&at, &mut behind| behind <= start || at >= end);
    }
}
