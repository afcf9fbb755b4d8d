//! One part of the pages: reads of a launch first, then its writes, page by page.

use super::bitmap::Bitmap;
use super::engine::Options;
use super::host::HostRanges;
use super::local::Local;
use super::reader::{Reader, Seen};
use super::record::{Pattern, Record};
use super::shadow::{PAGE_BYTES, Page, Tag};
use super::strides::Runs;
use super::sums::{ShardOut, View};
use rustc_hash::FxHashMap;

/// Pages and scratch memory of one shard.
pub(crate) struct Shard {
    pages: FxHashMap<u64, Page>,
    scratch: Scratch,
    pub(crate) out: ShardOut,
}

struct Scratch {
    seen: Seen,
    local: Local,
    /// Bytes that a plain store of the current launch wrote.
    plain: Bitmap,
    sources: Vec<Tag>,
}

impl Shard {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            pages: FxHashMap::default(),
            scratch: Scratch {
                seen: Seen::new(),
                local: Local::new(),
                plain: Bitmap::new(),
                sources: Vec::new(),
            },
            out: ShardOut::new(options),
        }
    }

    /// The stores that communicated; all else is not needed any more.
    pub(crate) fn into_stores(self) -> Runs {
        self.out.stores
    }

    /// Number of pages that a kernel has written.
    pub(crate) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Sets the last writer of the part of `start..end` that lies in page `number`, where the page exists.
    pub(crate) fn set(&mut self, number: u64, start: u64, end: u64, tag: Tag) {
        let (offset, len) = part(number, start, end);
        if len == PAGE_BYTES {
            // Untouched memory costs nothing: the host's ranges say who wrote it.
            self.pages.remove(&number);
        } else if let Some(page) = self.pages.get_mut(&number) {
            page.set(offset, len, tag);
        }
    }

    /// The same for every page that meets the range.
    pub(crate) fn set_all(&mut self, start: u64, end: u64, tag: Tag) {
        let met: Vec<u64> = (self.pages.keys().copied())
            .filter(|&number| part(number, start, end).1 > 0)
            .collect();
        for number in met {
            self.set(number, start, end, tag);
        }
    }

    /// All records of one launch that lie in this shard's pages, in file order.
    pub(crate) fn launch(&mut self, view: &View, host: &HostRanges, chunks: &[Vec<Record>]) {
        let (mut records, ends) = by_page(chunks);
        let mut start = 0;
        for end in ends {
            let records = &mut records[start..end];
            start = end;
            // Stable: within a CTA the order of the file is the program order of each thread.
            if !records.is_sorted_by_key(|record| record.cta) {
                records.sort_by_key(|record| record.cta);
            }
            self.page(view, host, records);
        }
        self.out.end_launch();
    }

    fn page(&mut self, view: &View, host: &HostRanges, records: &[Record]) {
        let number = records[0].page();
        let base = number * PAGE_BYTES as u64;
        let writes = records.iter().any(Record::writes);
        if !writes && !self.pages.contains_key(&number) {
            unwritten(host, base, records, &mut self.out);
            return;
        }
        let page = self
            .pages
            .entry(number)
            .or_insert_with(|| fresh_page(host, base, records, self.out.options.strides));
        for records in records.chunk_by(|a, b| a.cta == b.cta) {
            self.scratch.read(view, page, base, records, &mut self.out);
        }
        if writes {
            self.scratch.write(view, page, records, &mut self.out);
        }
    }
}

impl Scratch {
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
        out.flush();
        self.seen.clear();
        self.local.clear();
    }

    /// Writes of all CTAs, in ascending order of their numbers.
    fn write(&mut self, view: &View, page: &mut Page, records: &[Record], out: &mut ShardOut) {
        for record in records.iter().filter(|record| record.writes()) {
            let (offset, len) = (record.offset(), record.extent());
            page.write(offset, len, record.width(), view.launch, record.cta);
            if !record.reads() {
                self.plain.insert(offset, len, |_, _| {});
            }
        }
        for (offset, len) in page.written_by_several(view.launch) {
            out.sums.several_writers += len as u64;
            out.sums.racing += self.plain.count(offset, len);
        }
        self.plain.clear();
    }
}

/// The records of all chunks with those of a page side by side, else in their order, and where each page's records end.
fn by_page(chunks: &[Vec<Record>]) -> (Vec<Record>, Vec<usize>) {
    let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
    let mut counts: Vec<usize> = Vec::new();
    let mut last = (u64::MAX, 0);
    let indices: Vec<u32> = (chunks.iter().flatten())
        .map(|record| {
            if record.page() != last.0 {
                let index = *numbers.entry(record.page()).or_insert_with(|| {
                    counts.push(0);
                    counts.len() as u32 - 1
                });
                last = (record.page(), index);
            }
            counts[last.1 as usize] += 1;
            last.1
        })
        .collect();
    let Some(&any) = chunks.iter().flatten().next() else {
        return (Vec::new(), Vec::new());
    };
    let mut next: Vec<usize> = Vec::with_capacity(counts.len());
    let mut total = 0;
    for count in counts {
        next.push(total);
        total += count;
    }
    let mut records = vec![any; total];
    for (&record, index) in chunks.iter().flatten().zip(indices) {
        let at = &mut next[index as usize];
        records[*at] = record;
        *at += 1;
    }
    (records, next)
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
