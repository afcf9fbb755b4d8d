//! A shard of pages, which analyses a launch page by page: first its reads, then its writes.

use super::bitmap::Bitmap;
use super::exact::ExactPage;
use super::host::Untraced;
use super::local::Local;
use super::reader::{Reader, Seen};
use super::shadow::{Extra, PAGE_BYTES, Page, Tag, page_of};
use super::unwritten::{Search, written_by_untraced, written_in};
use super::writers::Writers;
use crate::communication::engine::Options;
use crate::communication::input::block::{Block, Gathered};
use crate::communication::input::record::{CtaOrder, Record, Survey};
use crate::communication::output::detail::{SoleAllocation, Touched, Touches};
use crate::communication::output::sums::{ShardOut, View};
use crate::communication::spill::file::{self, SpillFile, SpillFolder};
use crate::communication::spill::shadow_file;
use crate::error::{AnalysisError, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use superstep_trace::{AllocationId, SiteId};

/// Pages of one shard, in memory or on disk.
pub(crate) struct Shard {
    pub(crate) pages: FxHashMap<u64, Page>,
    /// Pages used instead of `pages` if accesses are matched by address.
    exact: FxHashMap<u64, ExactPage>,
    /// Touched bytes, if requested.
    touched: FxHashMap<u64, Touched>,
    /// Approximate size of `pages` and `touched` in bytes.
    pub(crate) bytes: usize,
    /// Counts of written and touched pages on disk. If either is not 0, no pages are in memory.
    on_disk: (usize, usize),
    /// Events that the pages do not reflect yet, in order.
    pub(crate) pending: Vec<Pending>,
    pub(crate) out: ShardOut,
}

/// A host call that changes or copies `start..end`.
pub(crate) struct Pending {
    /// Position of the next launch.
    pub(crate) next_launch: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) event: Event,
}

#[derive(Clone)]
pub(crate) enum Event {
    /// Memory was written, allocated or freed, and this is now its last writer.
    Written(Tag),
    /// The host copied the bytes; the flag is set to true if a kernel had written any of them.
    Copied(Arc<AtomicBool>),
}

pub(crate) struct Records<'a> {
    pub(crate) blocks: &'a [Block],
    pub(crate) shard: usize,
    pub(crate) file: Option<&'a SpillFile>,
    /// Maximum number of records held in memory at once.
    pub(crate) max_records: usize,
    pub(crate) folder: &'a SpillFolder,
}

pub(crate) struct Scratch {
    pub(crate) gathered: Gathered,
    by_cta: CtaOrder,
    marks: Marks,
    local: Local,
    /// Bytes that a plain store of the current launch wrote.
    plain: Bitmap,
    pub(crate) search: Search,
    pub(crate) writers: Writers,
}

struct Marks {
    seen: Seen,
    sources: Vec<Tag>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            gathered: Gathered::default(),
            by_cta: CtaOrder::default(),
            marks: Marks {
                seen: Seen::new(),
                sources: Vec::new(),
            },
            local: Local::new(),
            plain: Bitmap::new(),
            search: Search::new(),
            writers: Writers::new(),
        }
    }
}

impl Shard {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            pages: FxHashMap::default(),
            exact: FxHashMap::default(),
            touched: FxHashMap::default(),
            bytes: 0,
            on_disk: (0, 0),
            pending: Vec::new(),
            out: ShardOut::new(options),
        }
    }

    pub(crate) fn pages(&self) -> usize {
        self.pages.len() + self.touched.len() + self.on_disk.0 + self.on_disk.1 + self.exact.len()
    }

    /// Writes all pages to the file `name` and frees their memory.
    pub(crate) fn swap_out(&mut self, folder: &SpillFolder, name: &str) -> Result<()> {
        if self.pages.is_empty() && self.touched.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (&number, touched) in &self.touched {
            shadow_file::put_touched(number, touched, &mut bytes);
        }
        for (&number, page) in &self.pages {
            shadow_file::put(number, page, &mut bytes);
        }
        file::write_bytes(folder, name, &bytes)?;
        self.on_disk = (self.pages.len(), self.touched.len());
        self.pages = FxHashMap::default();
        self.touched = FxHashMap::default();
        self.bytes = 0;
        Ok(())
    }

    /// Reads the pages back if they are on disk.
    pub(crate) fn swap_in(&mut self, folder: &SpillFolder, name: &str) -> Result<()> {
        if self.on_disk == (0, 0) {
            return Ok(());
        }
        let bytes = file::read_bytes(folder, name)?;
        let mut rest = bytes.as_slice();
        for _ in 0..self.on_disk.1 {
            if let Some((number, touched)) = shadow_file::take_touched(&mut rest) {
                self.bytes += size_of::<Touched>();
                self.touched.insert(number, touched);
            }
        }
        while let Some((number, page)) = shadow_file::take(&mut rest) {
            self.bytes += page.bytes();
            self.pages.insert(number, page);
        }
        if !rest.is_empty() || (self.pages.len(), self.touched.len()) != self.on_disk {
            let source = std::io::Error::other("the file was changed");
            let path = folder.file(name)?;
            return Err(AnalysisError::Spill { path, source });
        }
        self.on_disk = (0, 0);
        Ok(())
    }

    /// Applies the events before the launch at `position`, unless the pages are on disk.
    pub(crate) fn catch_up(&mut self, position: u32) {
        let is_later = |event: &Pending| event.next_launch > position;
        if self.on_disk != (0, 0) || self.pending.first().is_none_or(is_later) {
            return;
        }
        let mut events = std::mem::take(&mut self.pending);
        let count = events.partition_point(|event| !is_later(event));
        for Pending {
            start, end, event, ..
        } in events.drain(..count)
        {
            match event {
                Event::Written(tag) => self.written(start, end, tag),
                Event::Copied(written) => {
                    if !written.load(Ordering::Relaxed) && !self.is_unwritten(start, end) {
                        written.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
        self.pending = events;
    }

    /// Returns whether any copies are still unchecked.
    pub(crate) fn has_pending_queries(&self) -> bool {
        let mut events = self.pending.iter();
        events.any(|event| matches!(event.event, Event::Copied(_)))
    }

    /// Returns the pages in memory that overlap `start..end`.
    fn overlapping_pages(&self, start: u64, end: u64) -> FxHashSet<u64> {
        let first = page_of(start);
        if first == page_of(end - 1) {
            return FxHashSet::from_iter([first]);
        }
        let known = self.pages.keys().chain(self.exact.keys());
        let known = known.chain(self.touched.keys()).copied();
        known
            .filter(|&number| part(number, start, end).1 > 0)
            .collect()
    }

    /// Sets the last writer of `start..end` in the pages that exist.
    fn written(&mut self, start: u64, end: u64, tag: Tag) {
        for number in self.overlapping_pages(start, end) {
            let (offset, len) = part(number, start, end);
            if let Some(page) = self.exact.get_mut(&number) {
                page.forget(offset, len);
            }
            if tag == Tag::UNWRITTEN
                && let Some(touched) = self.touched.get_mut(&number)
            {
                touched.forget(offset, len);
            }
            if len == PAGE_BYTES {
                // `Untraced` contains the writers of memory without a page.
                if let Some(page) = self.pages.remove(&number) {
                    self.bytes = self.bytes.saturating_sub(page.bytes());
                }
            } else if let Some(page) = self.pages.get_mut(&number) {
                page.set(offset, len, tag);
            }
        }
    }

    /// Returns whether the pages in memory contain no written byte of `start..end`.
    fn is_unwritten(&self, start: u64, end: u64) -> bool {
        self.overlapping_pages(start, end).iter().all(|&number| {
            let (offset, len) = part(number, start, end);
            let unwritten =
                |page: &Page| (offset..offset + len).all(|at| page.tag(at) == Tag::UNWRITTEN);
            self.pages.get(&number).is_none_or(unwritten)
        })
    }

    pub(crate) fn launch(
        &mut self,
        view: &View,
        scratch: &mut Scratch,
        shard_records: &Records<'_>,
    ) -> Result<()> {
        self.out.launch = view.launch;
        let blocks = shard_records.blocks.iter();
        let count: usize = blocks.map(|block| block.count(shard_records.shard)).sum();
        if count > shard_records.max_records && !self.out.options.matches_addresses() {
            self.large_launch(view, scratch, shard_records)?;
            self.out.end_launch();
            return Ok(());
        }
        let mut gathered = std::mem::take(&mut scratch.gathered);
        gathered.pages(shard_records, |records, survey| {
            view.program.cancellation.check()?;
            if survey.has_phases || !survey.by_cta {
                scratch.by_cta.sort(records, survey.has_phases);
            }
            self.page(view, scratch, records, survey)
        })?;
        scratch.gathered = gathered;
        view.program.cancellation.check()?;
        self.out.end_launch();
        Ok(())
    }

    pub(crate) fn page(
        &mut self,
        view: &View,
        scratch: &mut Scratch,
        records: &[Record],
        survey: &Survey,
    ) -> Result<()> {
        let number = records[0].page();
        let base = number * PAGE_BYTES as u64;
        if self.out.options.matches_addresses() {
            let page = self.exact.entry(number).or_default();
            page.launch(view, records, &mut self.out);
            return view.program.kept.take_if_full(&mut self.out);
        }
        if !self.out.options.details {
            return self.accesses(view, scratch, (records, survey), Some(None));
        }
        let mut touches = Touches::default();
        records.iter().for_each(|record| touches.add(record));
        self.touches(number, view.launch, &touches);
        let end = base.saturating_add(PAGE_BYTES as u64);
        let sole_allocation = view.regions.sole_allocation(base, end);
        let before = std::mem::take(&mut self.out.sums);
        self.accesses(view, scratch, (records, survey), sole_allocation)?;
        let ShardOut { details, sums, .. } = &mut self.out;
        details.attribute(sole_allocation, view.kernel, before, sums);
        if survey.writes {
            self.stores(view, records, sole_allocation);
        }
        Ok(())
    }

    pub(crate) fn touches(&mut self, number: u64, launch: u32, touches: &Touches) {
        let touched = self.touched.entry(number).or_insert_with(|| {
            self.bytes += size_of::<Touched>();
            Touched::new()
        });
        touched.launch(launch, touches, &mut self.out.details.footprint);
    }

    pub(crate) fn stores(
        &mut self,
        view: &View,
        records: &[Record],
        sole_allocation: SoleAllocation,
    ) {
        let details = &mut self.out.details;
        match sole_allocation {
            Some(allocation) => details.stores(allocation, view.kernel, records),
            None => (view.regions.split(records).iter())
                .for_each(|part| details.stores(part.allocation, view.kernel, &part.records)),
        }
    }

    /// Analyses all records in one page. Without a `sole_allocation`, each read is attributed to its own allocation.
    fn accesses(
        &mut self,
        view: &View,
        scratch: &mut Scratch,
        (records, survey): (&[Record], &Survey),
        sole_allocation: SoleAllocation,
    ) -> Result<()> {
        let is_shared = sole_allocation.is_none();
        let number = records[0].page();
        let base = number * PAGE_BYTES as u64;
        let writes = survey.writes;
        scratch.set_shift(survey.written_shift);
        let unwritten_before = self.out.sums.unwritten_bytes();
        if !writes && !self.pages.contains_key(&number) {
            let parts = parts_of(view.untraced, base);
            count_untraced_reads(view, &parts, records, is_shared, &mut self.out);
            if self.out.options.details && self.out.sums.unwritten_bytes() > unwritten_before {
                let found = &mut self.out.details.unwritten;
                (scratch.search).page(view, records, &written_by_untraced(&parts), found);
            }
            return Ok(());
        }
        let options = self.out.options;
        let mut bytes_before = 0;
        let page = match self.pages.entry(number) {
            Entry::Occupied(entry) => {
                bytes_before = entry.get().bytes();
                entry.into_mut()
            }
            Entry::Vacant(entry) => entry.insert(fresh_page(view.untraced, base, records, options)),
        };
        if survey.reads && writes {
            let is_one_cta = records.first().map(|it| it.cta) == records.last().map(|it| it.cta);
            if !is_one_cta || page.has_unwritten() {
                scratch.writers.add(records, survey.has_phases);
                scratch.writers.carry_forward();
            }
        }
        let single = survey.single_width(page.shift);
        if let (Some(allocation), false, Some(width)) = (sole_allocation, writes, single) {
            let reads = (records[0].cta, allocation);
            let mut reader = (scratch.marks).reader(view, (page, base), reads, None, &mut self.out);
            reader.singles(records, width, &mut scratch.search)?;
            (scratch.search).end(false, &mut self.out.details.unwritten);
        } else {
            for records in records.chunk_by(|a, b| a.cta == b.cta) {
                view.program.cancellation.check()?;
                scratch.read(view, page, base, (records, sole_allocation), &mut self.out);
                view.program.kept.take_if_full(&mut self.out)?;
            }
            scratch.writers.clear();
            if self.out.options.details && self.out.sums.unwritten_bytes() > unwritten_before {
                let found = &mut self.out.details.unwritten;
                (scratch.search).page(view, records, &written_in(page), found);
            }
        }
        if writes {
            scratch.write(view, page, records, &mut self.out);
        }
        self.bytes = (self.bytes + page.bytes()).saturating_sub(bytes_before);
        view.program.kept.take_if_full(&mut self.out)
    }
}

impl Marks {
    fn reader<'a>(
        &'a mut self,
        view: &'a View,
        (page, base): (&'a mut Page, u64),
        (cta, allocation): (u32, Option<AllocationId>),
        writers: Option<&'a Writers>,
        out: &'a mut ShardOut,
    ) -> Reader<'a> {
        Reader {
            view,
            page,
            base,
            cta,
            seen: &mut self.seen,
            sources: &mut self.sources,
            out,
            allocation,
            place: None,
            writers,
        }
    }
}

impl Scratch {
    /// Sets the cell size, chosen so that every write of a launch to a page fills whole cells.
    pub(crate) fn set_shift(&mut self, shift: u32) {
        self.local.shift = shift;
        self.writers.shift = shift;
        self.search.set_shift(shift);
    }

    pub(crate) fn read(
        &mut self,
        view: &View,
        page: &mut Page,
        base: u64,
        (records, sole_allocation): (&[Record], SoleAllocation),
        out: &mut ShardOut,
    ) {
        let Some(last_read) = records.iter().rposition(Record::reads) else {
            return;
        };
        let records = &records[..=last_read];
        if let Some(allocation) = sole_allocation {
            self.read_part(view, page, base, (records, allocation), out);
        } else {
            for part in view.regions.split(records) {
                let before = std::mem::take(&mut out.sums);
                let reads = (&part.records[..], part.allocation);
                self.read_part(view, page, base, reads, out);
                let allocation = Some(part.allocation);
                (out.details).attribute(allocation, view.kernel, before, &mut out.sums);
            }
        }
        out.loads.end_ctas(records[0].cta + 1);
        self.marks.seen.clear();
        self.local.clear();
    }

    fn read_part(
        &mut self,
        view: &View,
        page: &mut Page,
        base: u64,
        (records, allocation): (&[Record], Option<AllocationId>),
        out: &mut ShardOut,
    ) {
        let first_write = match self.local.is_empty() {
            true => records.iter().position(Record::writes),
            false => Some(0),
        };
        let (before, after) = records.split_at(first_write.unwrap_or(records.len()));
        let reads = (records[0].cta, allocation);
        let writers = self.writers.if_any();
        let mut reader = (self.marks).reader(view, (page, base), reads, writers, out);
        for record in before {
            reader.read(record, None);
        }
        for record in after {
            if record.reads() {
                reader.read(record, Some(&self.local));
            }
            if record.writes() {
                self.local.write(record);
            }
        }
    }

    /// Applies the writes of all CTAs, in ascending order of CTA number.
    fn write(&mut self, view: &View, page: &mut Page, records: &[Record], out: &mut ShardOut) {
        for record in records.iter().filter(|record| record.writes()) {
            write(view, page, record);
        }
        if !page.has_multiple_writers() {
            return;
        }
        let stores = records.iter().filter(|record| record.writes());
        for store in stores.filter(|record| !record.reads()) {
            (self.plain).insert(store.offset(), store.extent(), |_, _| {});
        }
        out.count_multiple_writers(view.launch, page, &self.plain);
        self.plain.clear();
    }
}

pub(crate) fn write(view: &View, page: &mut Page, record: &Record) {
    let range = (record.offset(), record.extent());
    let site = match page.extra.sites {
        true => view.site_of(record).unwrap_or_default(),
        false => SiteId::default(),
    };
    page.write(range, record.width(), site, (view.launch, record.cta));
}

/// Returns the offset and the length of the part of `start..end` in page `number`.
fn part(number: u64, start: u64, end: u64) -> (usize, usize) {
    let base = number * PAGE_BYTES as u64;
    let offset = start.saturating_sub(base).min(PAGE_BYTES as u64);
    let stop = end.saturating_sub(base).min(PAGE_BYTES as u64);
    (offset as usize, stop.saturating_sub(offset) as usize)
}

/// Offset in a page, length and writer.
pub(crate) type Part = (usize, usize, Tag);

/// Creates the page at `base` with its untraced writers, as it is before `records` write to it.
pub(crate) fn fresh_page(
    untraced: &Untraced,
    base: u64,
    records: &[Record],
    options: Options,
) -> Page {
    let parts = parts_of(untraced, base);
    let aligned = |offset: usize, len: usize| (offset | len).is_multiple_of(4);
    let words = parts.iter().all(|&(offset, len, _)| aligned(offset, len))
        && (records.iter().filter(|record| record.writes())).all(|record| {
            let width = if options.strides { record.width() } else { 0 };
            aligned(record.offset(), record.extent() | width)
        });
    let mut page = Page::new(
        Tag::UNWRITTEN,
        words,
        Extra {
            starts: options.strides,
            sites: options.details,
        },
    );
    for (offset, len, tag) in parts {
        page.set(offset, len, tag);
    }
    page
}

/// Returns the parts of a page with untraced writers.
pub(crate) fn parts_of(untraced: &Untraced, base: u64) -> Vec<Part> {
    (untraced.parts(base, base.saturating_add(PAGE_BYTES as u64)))
        .map(|(start, end, tag)| ((start - base) as usize, (end - start) as usize, tag))
        .collect()
}

/// Counts the reads of a page that no kernel has written. If `is_shared`, each is attributed to its allocation.
pub(crate) fn count_untraced_reads(
    view: &View,
    parts: &[Part],
    records: &[Record],
    is_shared: bool,
    out: &mut ShardOut,
) {
    if !is_shared {
        (records.iter()).for_each(|record| count_untraced_read(parts, record, out));
        return;
    }
    for part in view.regions.split(records) {
        let before = std::mem::take(&mut out.sums);
        (part.records.iter()).for_each(|record| count_untraced_read(parts, record, out));
        let allocation = Some(part.allocation);
        (out.details).attribute(allocation, view.kernel, before, &mut out.sums);
    }
}

/// Counts a read of a page that no kernel has written; `parts` are the parts with untraced writers.
fn count_untraced_read(parts: &[Part], record: &Record, out: &mut ShardOut) {
    let times = record.accesses();
    let (start, end) = (record.offset(), record.offset() + record.extent());
    let mut rest = record.extent();
    for &(offset, len, tag) in parts {
        let bytes = (offset + len).min(end).saturating_sub(offset.max(start));
        out.count_untraced(tag, bytes as u64 * times);
        rest -= bytes;
    }
    out.count_untraced(Tag::UNWRITTEN, rest as u64 * times);
}
