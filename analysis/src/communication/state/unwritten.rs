//! Loads of bytes that nothing has written since their memory was allocated, usually due to bugs in the program.
//!
//! A trace does not order the threads of a launch, so an access counts only if it is uninitialised in every order: none
//! of its bytes (in the page) was written before the launch, earlier by the same thread, or at any time in the launch
//! by another thread's plain store or exchange. Other atomics by other threads do not count as writes, because the
//! first of them itself reads unwritten bytes. An access with even one written byte does not count, because compilers
//! load the padding of structures along with their members.

use super::bitmap::Bitmap;
use super::local::Local;
use super::shadow::{PAGE_BYTES, Page, Tag, cells};
use super::shard::Part;
use super::writers::writer_id;
use crate::communication::input::record::{Pattern, Record};
use crate::communication::output::sums::View;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use superstep_trace::{AllocationId, Op, SiteId};

/// Unwritten bytes that one instruction loaded from one allocation, in all launches of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnwrittenRead {
    /// Index of the kernel in [`super::Communication::kernels`].
    pub kernel: u32,
    pub site: SiteId,
    /// The allocation; accesses outside all allocations are omitted.
    pub allocation: AllocationId,
    /// Index of the first launch in [`super::Communication::launches`].
    pub first_launch: u32,
    pub launches: u64,
    /// Maximum number of distinct bytes in one launch.
    pub bytes: u64,
    /// Bytes loaded by all accesses in all launches.
    pub loaded_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Amount {
    bytes: u64,
    loaded_bytes: u64,
}

crate::add_assign!(Amount: bytes, loaded_bytes);

/// Amounts in one launch, by instruction and allocation.
pub(crate) type LaunchAmounts = FxHashMap<(SiteId, AllocationId), Amount>;

/// Unwritten reads in all launches, by kernel, instruction and allocation.
#[derive(Debug, Default)]
pub(crate) struct Unwritten(BTreeMap<(u32, SiteId, AllocationId), UnwrittenRead>);

impl Unwritten {
    pub(crate) fn launch(
        &mut self,
        position: u32,
        kernel: u32,
        parts: Vec<((SiteId, AllocationId), Amount)>,
    ) {
        let mut all = LaunchAmounts::default();
        for (key, amount) in parts {
            *all.entry(key).or_default() += amount;
        }
        for ((site, allocation), amount) in all {
            let key = (kernel, site, allocation);
            let read = self.0.entry(key).or_insert(UnwrittenRead {
                kernel,
                site,
                allocation,
                first_launch: position,
                launches: 0,
                bytes: 0,
                loaded_bytes: 0,
            });
            read.launches += 1;
            read.bytes = read.bytes.max(amount.bytes);
            read.loaded_bytes += amount.loaded_bytes;
        }
    }

    pub(crate) fn into_rows(self) -> Vec<UnwrittenRead> {
        self.0.into_values().collect()
    }
}

/// Returns the written bytes of a page that no kernel has written; `parts` are the parts with untraced writers.
pub(crate) fn written_by_untraced(parts: &[Part]) -> Bitmap {
    let mut written = Bitmap::new();
    for &(offset, len, _) in parts {
        written.insert(offset, len, |_, _| {});
    }
    written
}

/// Returns the written bytes of a page.
pub(crate) fn written_in(page: &Page) -> Bitmap {
    let mut written = Bitmap::new();
    let mut at = 0;
    while at < PAGE_BYTES {
        let (tag, end) = page.segment(at, PAGE_BYTES);
        if tag != Tag::UNWRITTEN {
            written.insert(at, end - at, |_, _| {});
        }
        at = end;
    }
    written
}

const UNWRITTEN: u64 = 0;
const MULTIPLE: u64 = u64::MAX;

/// Second pass over the records of a page, made only if unwritten bytes were read in it.
pub(crate) struct Search {
    /// Binary logarithm of a cell's size in bytes. All stores fill whole cells.
    shift: u32,
    /// Thread that overwrites each cell in this launch with a value that does not depend on the old one.
    stored_by: Box<[u64; PAGE_BYTES]>,
    local: Local,
    /// Bytes loaded from the page, by instruction and allocation, and their amounts.
    found: Vec<((SiteId, AllocationId), Bitmap, Amount)>,
    /// The range of the page that was looked up last, and its allocation.
    latest: (Range<u64>, Option<AllocationId>),
}

impl Search {
    pub(crate) fn new() -> Self {
        Self {
            shift: 0,
            stored_by: Box::new([UNWRITTEN; PAGE_BYTES]),
            local: Local::new(),
            found: Vec::new(),
            latest: Default::default(),
        }
    }

    /// Sets the cell size; must be called before any store is recorded.
    pub(crate) fn set_shift(&mut self, shift: u32) {
        self.shift = shift;
        self.local.shift = shift;
    }

    /// Analyses all records of a launch in one page, ordered by CTA; `written` contains the bytes that were written
    /// before the launch.
    pub(crate) fn page(
        &mut self,
        view: &View,
        records: &[Record],
        written: &Bitmap,
        out: &mut LaunchAmounts,
    ) {
        let is_written = self.stores(view, records);
        for records in records.chunk_by(|a, b| a.cta == b.cta) {
            self.cta(view, records, written, is_written);
        }
        self.end(is_written, out);
    }

    /// Analyses the records of one CTA, after [`Search::stores`] has run for all CTAs.
    pub(crate) fn cta(
        &mut self,
        view: &View,
        records: &[Record],
        written: &Bitmap,
        is_written: bool,
    ) {
        for record in records {
            if record.reads() && !is_exchange(view, record) {
                self.read(view, record, written, is_written);
            }
            if record.writes() {
                self.local.write(record);
            }
        }
        self.local.clear();
    }

    pub(crate) fn end(&mut self, is_written: bool, out: &mut LaunchAmounts) {
        self.latest = Default::default();
        if is_written {
            self.stored_by[..PAGE_BYTES >> self.shift].fill(UNWRITTEN);
        }
        for (key, _, amount) in self.found.drain(..) {
            *out.entry(key).or_default() += amount;
        }
    }

    /// Records the threads that overwrite each cell; returns whether any byte is written.
    pub(crate) fn stores(&mut self, view: &View, records: &[Record]) -> bool {
        let mut is_written = false;
        for record in records.iter().filter(|record| record.writes()) {
            is_written = true;
            if record.reads() && !is_exchange(view, record) {
                continue;
            }
            for (thread, at) in lanes(record) {
                let me = writer_id(record.cta, thread);
                for writer in &mut self.stored_by[cells(self.shift, at, record.width())] {
                    let is_mine = *writer == UNWRITTEN || *writer == me;
                    *writer = if is_mine { me } else { MULTIPLE };
                }
            }
        }
        is_written
    }

    fn read(&mut self, view: &View, record: &Record, written: &Bitmap, is_written: bool) {
        if written.contains_all(record.offset(), record.extent()) {
            return;
        }
        let Some(site) = view.site_of(record) else {
            return;
        };
        let (at, len) = (record.offset(), record.extent());
        let (address, end) = (record.address, record.address + len as u64);
        // All accesses of one thread are usually in one allocation and of one kind.
        if let Some(thread) = record.only_thread() {
            let stored_by = &self.stored_by[cells(self.shift, at, len)];
            if is_written && stored_by.iter().all(is_other_than(record.cta, thread)) {
                return;
            }
            if let (range, Some(allocation)) = self.range_at(view, address)
                && end <= range.end
                && !written.contains_any(at, len)
                && !(is_written && self.may_be_written(record, at, len, thread))
            {
                return self.add((site, allocation), (at, len), record.times());
            }
        }
        let width = record.width();
        for (thread, at) in lanes(record) {
            if written.contains_any(at, width)
                || is_written && self.may_be_written(record, at, width, thread)
            {
                continue;
            }
            let address = record.address + (at - record.offset()) as u64;
            if let (_, Some(allocation)) = self.range_at(view, address) {
                self.add((site, allocation), (at, width), record.times());
            }
        }
    }

    #[inline]
    fn range_at(&mut self, view: &View, address: u64) -> (Range<u64>, Option<AllocationId>) {
        if !self.latest.0.contains(&address) {
            self.latest = view.regions.range_at(address);
        }
        self.latest.clone()
    }

    /// Returns whether the thread may read a byte that it or another thread has written in this launch.
    fn may_be_written(&self, record: &Record, at: usize, len: usize, thread: u32) -> bool {
        let mut stored_by = self.stored_by[cells(self.shift, at, len)].iter();
        stored_by.any(is_other_than(record.cta, thread)) || self.local.wrote_any(at, len, thread)
    }

    pub(crate) fn add(
        &mut self,
        key: (SiteId, AllocationId),
        (at, width): (usize, usize),
        times: u64,
    ) {
        // The entry is usually the last one.
        let known = self.found.iter().rposition(|found| found.0 == key);
        let index = known.unwrap_or_else(|| {
            self.found.push((key, Bitmap::new(), Amount::default()));
            self.found.len() - 1
        });
        let (_, bytes, amount) = &mut self.found[index];
        amount.bytes += bytes.insert_counting(at, width);
        amount.loaded_bytes += width as u64 * times;
    }
}

/// Returns whether a cell with this writer was stored to by another thread.
fn is_other_than(cta: u32, thread: u32) -> impl Fn(&u64) -> bool {
    let me = writer_id(cta, thread);
    move |&writer| writer != UNWRITTEN && writer != me
}

/// Returns each thread with the offset of its access.
pub(crate) fn lanes(record: &Record) -> impl Iterator<Item = (u32, usize)> + use<> {
    let step = match record.pattern() {
        Pattern::Contiguous => record.width(),
        Pattern::Same | Pattern::Piece => 0,
    };
    let first = record.offset();
    (record.threads().enumerate()).map(move |(lane, thread)| (thread, first + lane * step))
}

/// Returns whether `record` is an exchange, which writes a value that does not depend on the old one.
fn is_exchange(view: &View, record: &Record) -> bool {
    let ops = view.program.ops;
    let op = || view.site_of(record).and_then(|site| ops.op(site).ok());
    record.reads() && record.writes() && op() == Some(Op::AtomicExch)
}
