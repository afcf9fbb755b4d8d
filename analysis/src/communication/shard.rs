//! One part of the pages: reads of a launch first, then its writes, page by page.

use super::bitmap::Bitmap;
use super::block::{Block, Gathered};
use super::engine::Options;
use super::exact::{self, ExactPage};
use super::host::HostRanges;
use super::local::Local;
use super::reader::{Reader, Seen};
use super::record::{Pattern, Record, Survey};
use super::shadow::{PAGE_BYTES, Page, Tag};
use super::shadow_file;
use super::spill::{self, SpillFile, SpillFolder};
use super::sums::{ShardOut, View};
use crate::error::{AnalysisError, Result};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Pages of one shard, in memory or on disk.
pub(crate) struct Shard {
    pages: FxHashMap<u64, Page>,
    /// Instead of `pages`, where addresses are matched.
    exact: FxHashMap<u64, ExactPage>,
    /// About the bytes of `pages`.
    bytes: usize,
    /// Number of pages that are on disk; then none are in memory.
    on_disk: usize,
    /// What the host did since the pages went to disk: start, end, last writer.
    pending: Vec<(u64, u64, Tag)>,
    pub(crate) out: ShardOut,
}

/// Memory that a shard needs while it works.
pub(crate) struct Scratch {
    pub(crate) gathered: Gathered,
    seen: Seen,
    local: Local,
    /// Bytes that a plain store of the current launch wrote.
    plain: Bitmap,
    sources: Vec<Tag>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            gathered: Gathered::default(),
            seen: Seen::new(),
            local: Local::new(),
            plain: Bitmap::new(),
            sources: Vec::new(),
        }
    }
}

impl Shard {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            pages: FxHashMap::default(),
            exact: FxHashMap::default(),
            bytes: 0,
            on_disk: 0,
            pending: Vec::new(),
            out: ShardOut::new(options),
        }
    }

    /// About the bytes of memory that the pages take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of pages that a kernel has written.
    pub(crate) fn pages(&self) -> usize {
        self.pages.len() + self.on_disk + self.exact.len()
    }

    /// Writes all pages to the file `name` and frees their memory.
    pub(crate) fn swap_out(&mut self, folder: &SpillFolder, name: &str) -> Result<()> {
        if self.pages.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (&number, page) in &self.pages {
            shadow_file::put(number, page, &mut bytes);
        }
        spill::write_bytes(folder, name, &bytes)?;
        self.on_disk = self.pages.len();
        self.pages = FxHashMap::default();
        self.bytes = 0;
        Ok(())
    }

    /// Reads the pages back, if they are on disk.
    pub(crate) fn swap_in(&mut self, folder: &SpillFolder, name: &str) -> Result<()> {
        if self.on_disk == 0 {
            return Ok(());
        }
        let bytes = spill::read_bytes(folder, name)?;
        let mut rest = bytes.as_slice();
        while let Some((number, page)) = shadow_file::take(&mut rest) {
            self.bytes += page.bytes();
            self.pages.insert(number, page);
        }
        if !rest.is_empty() || self.pages.len() != self.on_disk {
            let source = std::io::Error::other("the file is not what was written");
            let path = folder.file(name)?;
            return Err(AnalysisError::Spill { path, source });
        }
        self.on_disk = 0;
        for (start, end, tag) in std::mem::take(&mut self.pending) {
            self.set_all(start, end, tag);
        }
        Ok(())
    }

    /// Sets the last writer of the part of `start..end` that lies in page `number`, where the page exists.
    pub(crate) fn set(&mut self, number: u64, start: u64, end: u64, tag: Tag) {
        let (offset, len) = part(number, start, end);
        if let Some(page) = self.exact.get_mut(&number) {
            page.forget(offset, len);
        }
        if self.on_disk > 0 {
            match self.pending.last_mut() {
                // Page after page of one range, mostly.
                Some(last) if last.2 == tag && last.0 <= start && last.1 >= end => {}
                _ => self.pending.push((start, end, tag)),
            }
        } else if len == PAGE_BYTES {
            // Untouched memory costs nothing: the host's ranges say who wrote it.
            if let Some(page) = self.pages.remove(&number) {
                self.bytes = self.bytes.saturating_sub(page.bytes());
            }
        } else if let Some(page) = self.pages.get_mut(&number) {
            page.set(offset, len, tag);
        }
    }

    /// The same for every page that meets the range.
    pub(crate) fn set_all(&mut self, start: u64, end: u64, tag: Tag) {
        if self.on_disk > 0 {
            self.pending.push((start, end, tag));
            return;
        }
        let met: Vec<u64> = (self.pages.keys().chain(self.exact.keys()).copied())
            .filter(|&number| part(number, start, end).1 > 0)
            .collect();
        for number in met {
            self.set(number, start, end, tag);
        }
    }

    /// All records of one launch that lie in this shard's pages: shard number `shard` of `blocks`.
    pub(crate) fn launch(
        &mut self,
        view: &View,
        host: &HostRanges,
        scratch: &mut Scratch,
        (blocks, shard, file): (&[Block], usize, Option<&SpillFile>),
    ) -> Result<()> {
        let mut gathered = std::mem::take(&mut scratch.gathered);
        gathered.pages(blocks, shard, file, |records, survey| {
            // Stable: within a CTA the order of the file is the program order of each thread.
            if !survey.by_cta {
                records.sort_by_key(|record| record.cta);
            }
            self.page(view, host, scratch, records, survey);
        })?;
        scratch.gathered = gathered;
        self.out.end_launch();
        Ok(())
    }

    fn page(
        &mut self,
        view: &View,
        host: &HostRanges,
        scratch: &mut Scratch,
        records: &[Record],
        survey: &Survey,
    ) {
        let number = records[0].page();
        let base = number * PAGE_BYTES as u64;
        if exact::asked(self.out.options) {
            let page = self.exact.entry(number).or_default();
            return page.launch(view, host, base, records, &mut self.out);
        }
        let writes = survey.writes;
        if !writes && !self.pages.contains_key(&number) {
            unwritten(host, base, records, &mut self.out);
            return;
        }
        let strides = self.out.options.strides;
        let mut before = 0;
        let page = match self.pages.entry(number) {
            Entry::Occupied(entry) => {
                before = entry.get().bytes();
                entry.into_mut()
            }
            Entry::Vacant(entry) => entry.insert(fresh_page(host, base, records, strides)),
        };
        if let (false, Some(width)) = (writes, survey.single_width(page.shift())) {
            let mut reader = scratch.reader(view, page, base, records[0].cta, &mut self.out);
            reader.singles(records, width);
        } else {
            for records in records.chunk_by(|a, b| a.cta == b.cta) {
                scratch.read(view, page, base, records, &mut self.out);
            }
        }
        if writes {
            scratch.write(view, page, records, &mut self.out);
        }
        self.bytes = (self.bytes + page.bytes()).saturating_sub(before);
    }
}

impl Scratch {
    fn reader<'a>(
        &'a mut self,
        view: &'a View,
        page: &'a mut Page,
        base: u64,
        cta: u32,
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
        }
    }

    /// Reads of one CTA.
    fn read(
        &mut self,
        view: &View,
        page: &mut Page,
        base: u64,
        records: &[Record],
        out: &mut ShardOut,
    ) {
        let Some(last_read) = records.iter().rposition(Record::reads) else {
            return;
        };
        let records = &records[..=last_read];
        let first_write = records
            .iter()
            .position(Record::writes)
            .unwrap_or(records.len());
        let mut reader = Reader {
            view,
            page,
            base,
            cta: records[0].cta,
            seen: &mut self.seen,
            sources: &mut self.sources,
            out,
        };
        let (before, after) = records.split_at(first_write);
        for record in before {
            reader.record(record);
        }
        for record in after {
            if record.reads() {
                if self.local.is_untouched(record.offset(), record.extent()) {
                    reader.record(record);
                } else {
                    reader.record_after_writes(record, &self.local);
                }
            }
            if record.writes() {
                self.local.write(record);
            }
        }
        self.seen.clear();
        self.local.clear();
    }

    /// Writes of all CTAs, in ascending order of their numbers.
    fn write(&mut self, view: &View, page: &mut Page, records: &[Record], out: &mut ShardOut) {
        for record in records.iter().filter(|record| record.writes()) {
            let (offset, len) = (record.offset(), record.extent());
            page.write(offset, len, record.width(), view.launch, record.cta);
        }
        if !page.has_several() {
            return;
        }
        for record in records
            .iter()
            .filter(|record| record.writes() && !record.reads())
        {
            self.plain
                .insert(record.offset(), record.extent(), |_, _| {});
        }
        for (offset, len) in page.written_by_several(view.launch) {
            out.sums.several_writers += len as u64;
            out.sums.racing += self.plain.count(offset, len);
        }
        self.plain.clear();
    }
}

/// Offset and length of the part of `start..end` in page `number`.
fn part(number: u64, start: u64, end: u64) -> (usize, usize) {
    let base = number * PAGE_BYTES as u64;
    let offset = start.saturating_sub(base).min(PAGE_BYTES as u64);
    let stop = end.saturating_sub(base).min(PAGE_BYTES as u64);
    (offset as usize, stop.saturating_sub(offset) as usize)
}

/// A page with what the host wrote, before `records` write to it.
fn fresh_page(host: &HostRanges, base: u64, records: &[Record], starts: bool) -> Page {
    let parts: Vec<(usize, usize)> = host_parts(host, base);
    let aligned = |offset: usize, len: usize| (offset | len).is_multiple_of(4);
    let words = parts.iter().all(|&(offset, len)| aligned(offset, len))
        && (records.iter().filter(|record| record.writes())).all(|record| {
            let width = if starts { record.width() } else { 0 };
            aligned(record.offset(), record.extent() | width)
        });
    let mut page = Page::new(Tag::NEVER, words, starts);
    for (offset, len) in parts {
        page.set(offset, len, Tag::HOST);
    }
    page
}

fn host_parts(host: &HostRanges, base: u64) -> Vec<(usize, usize)> {
    host.parts(base, base.saturating_add(PAGE_BYTES as u64))
        .map(|(start, end)| ((start - base) as usize, (end - start) as usize))
        .collect()
}

/// Reads of a page that no kernel has written.
fn unwritten(host: &HostRanges, base: u64, records: &[Record], out: &mut ShardOut) {
    let parts = host_parts(host, base);
    for record in records {
        let times = match record.pattern() {
            Pattern::Contiguous | Pattern::Piece => 1,
            Pattern::Same => record.lanes() as u64,
        };
        let (start, end) = (record.offset(), record.offset() + record.extent());
        let input: usize = parts
            .iter()
            .map(|&(offset, len)| (offset + len).min(end).saturating_sub(offset.max(start)))
            .sum();
        out.sums.input += input as u64 * times;
        out.sums.uninitialised += (record.extent() - input) as u64 * times;
    }
}
