//! Finds the writers of the bytes that an access reads, and counts the bytes as defined in `docs/metrics.md`.

use super::bitmap::Bitmap;
use super::local::Local;
use super::shadow::{PAGE_BYTES, Page, Tag};
use super::writers::Writers;
use crate::communication::input::record::{Pattern, Record};
use crate::communication::output::detail::SiteFlowKey;
use crate::communication::output::strides::Owner;
use crate::communication::output::sums::{ShardOut, View};
use rustc_hash::FxHashSet;
use superstep_trace::{AllocationId, SiteId};

/// Bytes that the current CTA has read from the current page in this launch.
pub(crate) struct Seen {
    bytes: Bitmap,
    /// Aligned accesses of 1, 2, 4, 8 and 16 bytes, by index within the page.
    accesses: [Bitmap; 5],
    /// Offset and width of other accesses.
    odd: FxHashSet<(u16, u16)>,
    /// Accesses counted for only some of their sources, because the thread itself had written the other bytes.
    partial: FxHashSet<(u16, u16, Tag)>,
    /// Latest generation in which one access read the whole cell. A generation is one CTA's reads of a page.
    pub(crate) generations: Box<[u32; PAGE_BYTES]>,
    pub(crate) generation: u32,
}

impl Seen {
    pub(crate) fn new() -> Self {
        Self {
            bytes: Bitmap::new(),
            accesses: [const { Bitmap::new() }; 5],
            odd: FxHashSet::default(),
            partial: FxHashSet::default(),
            generations: Box::new([0; PAGE_BYTES]),
            generation: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.accesses.iter_mut().for_each(Bitmap::clear);
        self.odd.clear();
        self.partial.clear();
    }

    fn has_access(&self, at: usize, width: usize) -> bool {
        match Self::class(at, width) {
            Some(class) => self.accesses[class].contains(at >> class),
            None => self.odd.contains(&(at as u16, width as u16)),
        }
    }

    #[inline]
    fn class(at: usize, width: usize) -> Option<usize> {
        let class = width.trailing_zeros() as usize;
        (class < 5 && width == 1 << class && at & (width - 1) == 0).then_some(class)
    }

    /// Marks the accesses of `width` bytes that fill `at..at + len` and returns how many are new.
    #[inline]
    fn mark_accesses(&mut self, at: usize, len: usize, width: usize) -> u64 {
        match Self::class(at, width) {
            Some(class) => self.accesses[class].insert_counting(at >> class, len >> class),
            None => (at..at + len)
                .step_by(width)
                .filter(|&start| self.odd.insert((start as u16, width as u16)))
                .count() as u64,
        }
    }
}

pub(crate) struct Reader<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) page: &'a mut Page,
    pub(crate) base: u64,
    pub(crate) cta: u32,
    pub(crate) seen: &'a mut Seen,
    pub(crate) sources: &'a mut Vec<Tag>,
    pub(crate) out: &'a mut ShardOut,
    /// Allocation in which all accesses begin.
    pub(crate) allocation: Option<AllocationId>,
    /// Instruction and allocation of the current record, if details are kept.
    pub(crate) place: Option<(SiteId, Option<AllocationId>)>,
    /// Threads that store to the page in this launch, if that can affect how its loads are counted.
    pub(crate) writers: Option<&'a Writers>,
}

impl Reader<'_> {
    /// Counts a read; `local` contains the CTA's earlier writes in this launch.
    #[inline]
    pub(crate) fn read(&mut self, record: &Record, local: Option<&Local>) {
        self.set_place(record);
        let within = self.count(record, local);
        if let (true, Some((site, allocation))) = (within > 0, self.place) {
            let key = (self.view.kernel, site, allocation);
            self.out.details.within_launch(key, within);
        }
    }

    #[inline]
    pub(crate) fn set_place(&mut self, record: &Record) {
        if self.out.options.details {
            self.place = self
                .view
                .site_of(record)
                .map(|site| (site, self.allocation));
        }
    }

    /// Counts a read; returns how many of its bytes another CTA may have stored most recently in the launch.
    #[inline]
    fn count(&mut self, record: &Record, local: Option<&Local>) -> u64 {
        let within =
            (self.writers).map_or(0, |writers| writers.loaded_from_other_ctas(record, local));
        match record.writes() {
            true => self.out.sums.within_launch_atomic_bytes += within,
            false => self.out.sums.within_launch_loaded_bytes += within,
        }
        let uninitialised = self.out.sums.uninitialised_loaded_bytes;
        match local {
            Some(local) if !local.is_untouched(record.offset(), record.extent()) => {
                self.record_after_writes(record, local);
            }
            _ => self.record(record),
        }
        if let Some(writers) = self.writers
            && self.out.sums.uninitialised_loaded_bytes > uninitialised
        {
            let unordered = writers.unordered(record, local, self.page);
            self.out.sums.uninitialised_loaded_bytes -= unordered;
            self.out.sums.unordered_loaded_bytes += unordered;
        }
        within
    }

    /// Counts a record that reads no bytes written by its own threads in this launch.
    #[inline]
    fn record(&mut self, record: &Record) {
        let (at, width) = (record.offset(), record.width());
        match record.pattern() {
            Pattern::Contiguous => self.run(at, record.extent(), width, record.times()),
            Pattern::Same => self.run(at, width, width, record.accesses()),
            Pattern::Piece => self.bytes(at, width, 1, Some(record.origin), |_| false),
        }
    }

    /// Counts a record that may read bytes written by its own threads in this launch.
    fn record_after_writes(&mut self, record: &Record, local: &Local) {
        let width = record.width();
        let step = match record.pattern() {
            Pattern::Contiguous => width,
            _ => 0,
        };
        let (piece, times) = (record.pattern() == Pattern::Piece, record.times());
        if let Some(thread) = record.only_thread() {
            let (at, len) = (record.offset(), record.extent());
            if local.was_first(at, len, thread) {
                self.out.sums.local_loaded_bytes += len as u64 * times;
                return;
            }
            if !local.wrote_any(at, len, thread) {
                return self.run(at, len, width, times);
            }
        }
        let (mut at, mut start) = (record.offset(), record.offset());
        for thread in record.threads() {
            let is_local = !piece && local.was_first(at, width, thread);
            if is_local || piece || local.wrote_any(at, width, thread) {
                self.run(start, at - start, width, times);
                if is_local {
                    self.out.sums.local_loaded_bytes += width as u64 * times;
                } else {
                    let wide = piece.then_some(record.origin);
                    self.bytes(at, width, times, wide, |byte| local.wrote(byte, thread));
                }
                start = at + step;
            } else if step == 0 {
                self.run(at, width, width, times);
            }
            at += step;
        }
        self.run(start, at - start, width, times);
    }

    /// Counts adjacent accesses of `width` bytes, each of which is made `times` times.
    #[inline]
    pub(crate) fn run(&mut self, start: usize, len: usize, width: usize, times: u64) {
        let end = start + len;
        let mut at = start;
        while at < end {
            let (tag, segment_end) = self.page.segment(at, end);
            let whole = if segment_end == end {
                end - at
            } else {
                (segment_end - at) / width * width
            };
            let (is_multiple, has_partial) =
                (tag.has_multiple_writers(), !self.seen.partial.is_empty());
            if is_multiple && !has_partial && self.page.is_one_cell(at, width) {
                let count = self.seen.mark_accesses(at, width, width);
                self.loads(at, width, width, count);
                self.read_from_multiple(at, width, times, count, tag);
                at += width;
            } else if whole == 0 || is_multiple || has_partial {
                self.bytes(at, width, times, None, |_| false);
                at += width;
            } else {
                self.uniform(at, whole, width, times, tag);
                at += whole;
            }
        }
    }

    /// Counts adjacent accesses to bytes that all have the same single writer.
    #[inline]
    fn uniform(&mut self, at: usize, len: usize, width: usize, times: u64, tag: Tag) {
        let volume = len as u64 * times;
        match tag.launch() {
            None => self.out.count_untraced(tag, volume),
            Some(launch) if self.view.is_self(launch, tag.cta_number(), self.cta) => {
                self.out.sums.self_loaded_bytes += volume;
            }
            Some(launch) => {
                self.communicated(at, len, times, tag);
                let bytes = self.fresh_bytes(at, len, launch, tag);
                let count = self.seen.mark_accesses(at, len, width);
                self.loads(at, len, width, count);
                self.out.received(self.cta, tag, bytes, count);
            }
        }
    }

    /// Counts `times` reads of bytes that another entity (`tag`) wrote last.
    #[inline]
    pub(crate) fn communicated(&mut self, at: usize, len: usize, times: u64, tag: Tag) {
        self.out.sums.communicated_loaded_bytes += len as u64 * times;
        if let (Some((reader, allocation)), Some(source_launch)) = (self.place, tag.launch()) {
            // If there are multiple writers, at least one of them is another CTA.
            let is_other_cta = tag.cta_number() != self.cta;
            for (len, writer) in self.page.writers(at, len) {
                let key = SiteFlowKey {
                    source_launch,
                    writer,
                    reader,
                    allocation,
                };
                (self.out.details).site_flow(key, len as u64 * times, is_other_cta);
            }
        }
    }

    /// Marks bytes whose only writer is `tag`, another entity, as read; returns how many this CTA had not read yet.
    #[inline]
    fn fresh_bytes(&mut self, at: usize, len: usize, launch: u32, tag: Tag) -> u64 {
        let (page, out, base) = (&mut *self.page, &mut *self.out, self.base);
        let mut fresh = 0;
        self.seen.bytes.insert(at, len, |word, bits| {
            fresh += u64::from(bits.count_ones());
            mark_read(page, out, base, word, bits, launch, tag);
        });
        fresh
    }

    /// Records the accesses of `width` bytes in `at..at + len` as communicating, if `new` is not 0.
    #[inline]
    pub(crate) fn loads(&mut self, at: usize, len: usize, width: usize, new: u64) {
        if new != 0 && self.out.options.strides {
            let owner = Owner {
                launch: self.view.launch,
                cta: self.cta,
            };
            (self.out.loads).add(owner, self.base + at as u64, width, len / width);
        }
    }

    /// Counts a read of bytes in one cell that multiple CTAs wrote, and `count` accesses for each of the CTAs.
    fn read_from_multiple(&mut self, at: usize, len: usize, times: u64, count: u64, tag: Tag) {
        let mut bits = 0;
        self.seen.bytes.insert(at, len, |_, fresh| {
            bits = (fresh >> (at % 64)) as u8;
        });
        self.read_fresh_from_multiple((at, len), times, (bits, count), tag);
    }

    /// Counts a read of bytes that multiple CTAs wrote; `bits` marks those that this CTA has not read yet.
    #[inline]
    pub(crate) fn read_fresh_from_multiple(
        &mut self,
        (at, len): (usize, usize),
        times: u64,
        (bits, count): (u8, u64),
        tag: Tag,
    ) {
        self.communicated(at, len, times, tag);
        let strides = self.out.options.strides;
        let start = if strides {
            self.page.start(at) as u64
        } else {
            0
        };
        let (Some((entry, first_bit)), Some(launch)) =
            (self.page.multiple_writers(at), tag.launch())
        else {
            return;
        };
        let bits = bits * first_bit;
        let own = match self.view.is_same_kernel(launch) {
            true => (entry.writers)
                .binary_search_by_key(&self.cta, |writer| writer.cta)
                .ok(),
            false => None,
        };
        if bits & !entry.all_counted != 0 {
            let (mut new, mut all) = (0, u8::MAX);
            for (index, writer) in entry.writers.iter_mut().enumerate() {
                if Some(index) != own {
                    let more = u64::from((bits & !writer.counted).count_ones());
                    new += more;
                    writer.counted |= bits;
                    if strides && more > 0 {
                        let cta = writer.cta;
                        (self.out.stores).push(Owner { launch, cta }, self.base + start);
                    }
                }
                all &= writer.counted;
            }
            entry.all_counted = all;
            self.out.stored_by(launch, new);
        }
        let fresh = u64::from(bits.count_ones());
        if fresh == 0 && count == 0 {
            return;
        }
        if self.out.options.transfers {
            let amount = (fresh as u32, count as u32);
            let writers = (&entry.writers[..], own);
            (self.out).received_from_multiple(self.cta, launch, writers, amount);
        } else {
            let others = entry.writers.len() as u64 - u64::from(own.is_some());
            self.out.sums.received_bytes += others * fresh;
            self.out
                .received_from_launch(launch, others * fresh, others * count);
        }
    }

    /// Counts one access, or part of access number `wide`, byte by byte.
    fn bytes(
        &mut self,
        at: usize,
        len: usize,
        times: u64,
        wide: Option<u32>,
        is_local: impl Fn(usize) -> bool,
    ) {
        self.sources.clear();
        let mut partial = false;
        for byte in at..at + len {
            if is_local(byte) {
                self.out.sums.local_loaded_bytes += times;
                partial = true;
                continue;
            }
            let tag = self.page.tag(byte);
            match tag.launch() {
                None => self.out.count_untraced(tag, times),
                Some(launch) if tag.has_multiple_writers() => {
                    self.read_from_multiple(byte, 1, times, 0, tag);
                    let own = self.view.is_same_kernel(launch).then_some(self.cta);
                    if let Some((entry, _)) = self.page.multiple_writers(byte) {
                        let others = entry.writers.iter().map(|writer| writer.cta);
                        let others = others.filter(|&cta| Some(cta) != own);
                        self.sources.extend(others.map(|cta| Tag::cta(launch, cta)));
                    }
                }
                Some(launch) if self.view.is_self(launch, tag.cta_number(), self.cta) => {
                    self.out.sums.self_loaded_bytes += times;
                }
                Some(launch) => {
                    self.communicated(byte, 1, times, tag);
                    let fresh = self.fresh_bytes(byte, 1, launch, tag);
                    self.out.received(self.cta, tag, fresh, 0);
                    self.sources.push(tag);
                }
            }
        }
        self.sources.sort_unstable();
        self.sources.dedup();
        if !self.sources.is_empty() {
            self.loads(at, len, len, 1);
        }
        let Some(number) = wide else {
            return self.count_access(at, len, partial);
        };
        let cta = self.cta;
        let parts = self.sources.iter().map(|&source| (cta, number, source));
        self.out.wide.extend(parts);
    }

    /// Counts an access of `width` bytes once for each of its sources.
    fn count_access(&mut self, at: usize, width: usize, partial: bool) {
        if self.sources.is_empty() {
            return;
        }
        let key = |source| (at as u16, width as u16, source);
        let is_known = if partial {
            self.seen.has_access(at, width)
        } else {
            self.seen.mark_accesses(at, width, width) == 0
        };
        if is_known {
            return;
        }
        for index in 0..self.sources.len() {
            let source = self.sources[index];
            let counted = if partial {
                !self.seen.partial.insert(key(source))
            } else {
                self.seen.partial.contains(&key(source))
            };
            if !counted {
                self.out.received(self.cta, source, 0, 1);
            }
        }
    }
}

/// Marks `bits` of word `word` in the page at `base`, whose only writer is `tag`, as read by another entity.
#[inline]
pub(crate) fn mark_read(
    page: &mut Page,
    out: &mut ShardOut,
    base: u64,
    word: usize,
    bits: u64,
    launch: u32,
    tag: Tag,
) {
    let mut bits = page.count_read(word, bits);
    out.stored_by(launch, u64::from(bits.count_ones()));
    let cta = tag.cta_number();
    while out.options.strides && bits != 0 {
        let ((first, step, count), written) = page.stores(word, bits);
        let (owner, first) = (Owner { launch, cta }, base + first as u64);
        match count {
            1 => out.stores.push(owner, first),
            _ => out.stores.range(owner, first, step, count),
        }
        bits &= !written;
    }
}
