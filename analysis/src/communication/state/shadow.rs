//! Shadow memory of one page: the last writer of each byte.
//!
//! A page starts with one cell per aligned 4-byte word and is split into one cell per byte when part of a word is
//! written. Most pages are never split.

use super::bitmap::{WORDS, for_each_word};
use smallvec::SmallVec;
use superstep_trace::SiteId;

/// Size of a page of shadow memory, unrelated to the operating system's pages.
pub(crate) const PAGE_BYTES: usize = 4096;

#[inline]
pub(crate) fn page_of(address: u64) -> u64 {
    address / PAGE_BYTES as u64
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Tag(pub(crate) u64);

impl Tag {
    pub(crate) const UNWRITTEN: Tag = Tag(0);
    pub(crate) const HOST: Tag = Tag(1);
    /// An opaque launch, or an earlier writer.
    pub(crate) const UNKNOWN: Tag = Tag(2);
    /// Bit that is set if multiple CTAs wrote; the lower bits are then an index into [`Page::multiple`] instead of a
    /// CTA number. CTA numbers are smaller.
    pub(crate) const MULTIPLE: u32 = 1 << 31;

    /// Returns the tag of CTA `cta` in the launch at position `launch`.
    #[inline]
    pub(crate) fn cta(launch: u32, cta: u32) -> Self {
        Tag((u64::from(launch) + 1) << 32 | u64::from(cta))
    }

    /// Returns the tag of multiple CTAs in launch `launch`, listed at `index` in [`Page::multiple`].
    fn multiple(launch: u32, index: u16) -> Self {
        Self::cta(launch, Self::MULTIPLE | u32::from(index))
    }

    /// Returns the position of the launch, if the writer is traced.
    #[inline]
    pub(crate) fn launch(self) -> Option<u32> {
        ((self.0 >> 32) as u32).checked_sub(1)
    }

    #[inline]
    pub(crate) fn cta_number(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    pub(crate) fn has_multiple_writers(self) -> bool {
        self.0 as u32 & Self::MULTIPLE != 0
    }

    #[inline]
    pub(crate) fn kind(self, is_one_cell: bool) -> usize {
        let multiple = usize::from(self.has_multiple_writers());
        usize::from(self.0 >> 32 != 0) + multiple + (multiple & usize::from(!is_one_cell))
    }

    #[inline]
    fn writers_index(self) -> Option<usize> {
        (self.has_multiple_writers()).then_some((self.0 as u32 & !Self::MULTIPLE) as usize)
    }
}

/// The two or more CTAs that wrote one cell in one launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct MultipleWriters {
    /// Writers, in ascending order of CTA; usually two.
    pub(crate) writers: SmallVec<[Writer; 2]>,
    pub(crate) cell: u16,
    /// Bits set in every writer's `counted`.
    pub(crate) all_counted: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) cta: u32,
    /// Bit *b* is set if byte *b* of the cell has been counted as read from this CTA by another entity.
    pub(crate) counted: u8,
}

pub(crate) struct Page {
    pub(crate) cells: Vec<Tag>,
    /// Binary logarithm of a cell's size in bytes: 2 or 0.
    pub(crate) shift: u32,
    /// One bit for each byte with a single writer, set if another entity has read the byte since.
    pub(crate) counted: [u64; WORDS],
    /// Writers of the cells with multiple writers; an entry without writers is free.
    pub(crate) multiple: Vec<MultipleWriters>,
    /// Indices of the free entries in `multiple`.
    pub(crate) free: Vec<u16>,
    /// Offset of the store that wrote each cell; the largest one if multiple stores in a launch wrote the cell. Empty
    /// if not needed.
    pub(crate) starts: Vec<u16>,
    /// Number of the instruction that wrote each cell; the largest one if multiple instructions wrote the cell in a
    /// launch. Empty if not needed.
    pub(crate) sites: Vec<u32>,
}

/// Properties of the last store to each cell that a page keeps in addition to the writer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerCell {
    pub(crate) starts: bool,
    pub(crate) sites: bool,
}

impl Page {
    /// Creates a page with `tag` in all cells: one cell per word if `words`, otherwise one per byte.
    pub(crate) fn new(tag: Tag, words: bool, per_cell: PerCell) -> Self {
        let shift = if words { 2 } else { 0 };
        let cells = PAGE_BYTES >> shift;
        Self {
            cells: vec![tag; cells],
            shift,
            counted: [0; WORDS],
            multiple: Vec::new(),
            free: Vec::new(),
            starts: vec![0; if per_cell.starts { cells } else { 0 }],
            sites: vec![0; if per_cell.sites { cells } else { 0 }],
        }
    }

    /// Returns the offset of the store that wrote the byte at `offset`. The page must keep `starts`.
    #[inline]
    pub(crate) fn start(&self, offset: usize) -> u64 {
        u64::from(self.starts[offset >> self.shift])
    }

    /// Splits `at..at + len` where the instruction that wrote the bytes changes; returns the length and the instruction
    /// of each part. The page must keep `sites`.
    #[inline]
    pub(crate) fn writers(&self, at: usize, len: usize) -> impl Iterator<Item = (usize, SiteId)> {
        let (shift, mut at, end) = (self.shift, at, at + len);
        std::iter::from_fn(move || {
            let start = (at < end).then_some(at)?;
            let site = self.sites[at >> shift];
            while at < end && self.sites[at >> shift] == site {
                at = ((at >> shift) + 1) << shift;
            }
            Some((at.min(end) - start, SiteId(site)))
        })
    }

    /// Returns the bits of all bytes in the cell that contains byte `bit` of its 64-byte word.
    #[inline]
    pub(crate) fn cell_bits(&self, bit: usize) -> u64 {
        ((1 << (1 << self.shift)) - 1) << (bit >> self.shift << self.shift)
    }

    #[inline]
    pub(crate) fn tag(&self, offset: usize) -> Tag {
        self.cells[offset >> self.shift]
    }

    /// Returns the last writer of all bytes of an access that fills whole cells, or `None` if there is more than one.
    #[inline]
    pub(crate) fn common_tag(&self, offset: usize, len: usize) -> Option<Tag> {
        let cells = &self.cells[offset >> self.shift..(offset + len) >> self.shift];
        let (&first, rest) = cells.split_first()?;
        rest.iter().all(|&tag| tag == first).then_some(first)
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.cells.len() * 8
            + self.starts.len() * 2
            + self.sites.len() * 4
            + self.multiple.len() * 40
    }

    /// Returns the first offset after `offset` with a last writer other than the one at `offset`; at most `end`.
    #[inline]
    pub(crate) fn segment_end(&self, offset: usize, end: usize) -> usize {
        let first = offset >> self.shift;
        let last = (end - 1) >> self.shift;
        let tag = self.cells[first];
        match self.cells[first + 1..=last].iter().position(|&t| t != tag) {
            Some(more) => (first + 1 + more) << self.shift,
            None => end,
        }
    }

    /// Returns the writers of the cell at `offset` if there is more than one, and the byte's bit in
    /// [`Writer::counted`].
    #[inline]
    pub(crate) fn multiple_writers(&mut self, offset: usize) -> Option<(&mut MultipleWriters, u8)> {
        let bit = 1 << (offset & ((1 << self.shift) - 1));
        let index = self.cells[offset >> self.shift].writers_index()?;
        self.multiple.get_mut(index).map(|entry| (entry, bit))
    }

    /// Returns the index of an entry for the writers of `cell`.
    fn take_entry(&mut self, cell: usize) -> u16 {
        let index = self.free.pop().unwrap_or_else(|| {
            // There is at most one entry per cell.
            self.multiple.push(MultipleWriters::default());
            (self.multiple.len() - 1) as u16
        });
        let entry = &mut self.multiple[usize::from(index)];
        (entry.cell, entry.all_counted) = (cell as u16, 0);
        index
    }

    /// Frees the entry of `old`, the replaced tag of a cell.
    #[inline]
    fn free_entry(&mut self, old: Tag) {
        if let Some(index) = old.writers_index() {
            self.multiple[index].writers.clear();
            self.free.push(index as u16);
        }
    }

    #[inline]
    pub(crate) fn is_one_cell(&self, offset: usize, len: usize) -> bool {
        offset >> self.shift == (offset + len - 1) >> self.shift
    }

    /// Marks `bits` of word `word`, bytes with single writers, as read by another entity; returns those that were
    /// unmarked.
    #[inline]
    pub(crate) fn count_read(&mut self, word: usize, bits: u64) -> u64 {
        let new = bits & !self.counted[word];
        self.counted[word] |= new;
        new
    }

    /// Splits the cells if `offset..offset + len` does not cover whole cells.
    #[inline]
    fn fit(&mut self, offset: usize, len: usize) {
        if (offset | len) & ((1 << self.shift) - 1) != 0 {
            self.split();
        }
    }

    fn split(&mut self) {
        let (shift, bytes) = (self.shift, 1 << self.shift);
        let cells = self.cells.iter();
        self.cells = (cells.flat_map(|&tag| std::iter::repeat_n(tag, bytes))).collect();
        let starts = self.starts.iter();
        self.starts = (starts.flat_map(|&start| std::iter::repeat_n(start, bytes))).collect();
        let sites = self.sites.iter();
        self.sites = (sites.flat_map(|&site| std::iter::repeat_n(site, bytes))).collect();
        self.shift = 0;
        let entries = std::mem::take(&mut self.multiple);
        self.free.clear();
        for entry in entries.iter().filter(|entry| !entry.writers.is_empty()) {
            for byte in 0..bytes {
                let cell = usize::from(entry.cell) << shift | byte;
                let launch = self.cells[cell].launch().unwrap_or_default();
                let index = self.take_entry(cell);
                self.cells[cell] = Tag::multiple(launch, index);
                let part = &mut self.multiple[usize::from(index)];
                (part.writers).extend(entry.writers.iter().map(|writer| Writer {
                    cta: writer.cta,
                    counted: writer.counted >> byte & 1,
                }));
                part.all_counted = entry.all_counted >> byte & 1;
            }
        }
    }

    /// Sets the last writer of a range to `tag`, which must not be the tag of a CTA.
    pub(crate) fn set(&mut self, offset: usize, len: usize, tag: Tag) {
        if len == 0 {
            return;
        }
        self.fit(offset, len);
        let cells = offset >> self.shift..(offset + len) >> self.shift;
        if self.has_multiple_writers() {
            for cell in cells.clone() {
                self.free_entry(self.cells[cell]);
            }
        }
        self.cells[cells].fill(tag);
        for_each_word(offset, len, |word, mask| self.counted[word] &= !mask);
    }

    /// Records `width`-byte stores to a range by CTA `cta` at instruction `site` in launch `launch`. The CTAs of a
    /// launch must write in ascending order.
    #[inline]
    pub(crate) fn write(
        &mut self,
        (offset, len): (usize, usize),
        width: usize,
        site: SiteId,
        (launch, cta): (u32, u32),
    ) {
        if self.starts.is_empty() {
            self.fit(offset, len);
        } else {
            self.fit(offset, len | width);
            self.mark_starts(offset, len, width, launch);
        }
        if !self.sites.is_empty() {
            let cells = offset >> self.shift..(offset + len) >> self.shift;
            let sites = &mut self.sites[cells.clone()];
            for (old, tag) in sites.iter_mut().zip(&self.cells[cells]) {
                let is_same_launch = tag.launch() == Some(launch);
                *old = site.0.max(if is_same_launch { *old } else { 0 });
            }
        }
        let tag = Tag::cta(launch, cta);
        for cell in offset >> self.shift..(offset + len) >> self.shift {
            let old = self.cells[cell];
            if old == tag {
                continue;
            }
            if old.launch() == Some(launch) {
                self.write_again(cell, old, launch, cta);
            } else {
                self.cells[cell] = tag;
                self.free_entry(old);
            }
        }
        for_each_word(offset, len, |word, mask| self.counted[word] &= !mask);
    }

    /// Records the starts of stores before the range is written.
    fn mark_starts(&mut self, offset: usize, len: usize, width: usize, launch: u32) {
        for start in (offset..offset + len).step_by(width) {
            let cells = start >> self.shift..(start + width) >> self.shift;
            let starts = &mut self.starts[cells.clone()];
            for (old, tag) in starts.iter_mut().zip(&self.cells[cells]) {
                let is_same_launch = tag.launch() == Some(launch);
                *old = (start as u16).max(if is_same_launch { *old } else { 0 });
            }
        }
    }

    #[cold]
    fn write_again(&mut self, cell: usize, old: Tag, launch: u32, cta: u32) {
        let index = old.writers_index().unwrap_or_else(|| {
            let index = self.take_entry(cell);
            self.cells[cell] = Tag::multiple(launch, index);
            let first = Writer {
                cta: old.cta_number(),
                counted: 0,
            };
            self.multiple[usize::from(index)].writers.push(first);
            usize::from(index)
        });
        let entry = &mut self.multiple[index];
        if entry.writers.last().is_none_or(|last| last.cta != cta) {
            entry.writers.push(Writer { cta, counted: 0 });
        }
    }

    #[inline]
    pub(crate) fn has_multiple_writers(&self) -> bool {
        self.multiple.len() > self.free.len()
    }

    /// Returns the byte ranges (offset, length) that multiple CTAs wrote in launch `launch`.
    pub(crate) fn written_by_multiple(
        &self,
        launch: u32,
    ) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.multiple.iter().filter_map(move |entry| {
            let cell = usize::from(entry.cell);
            (!entry.writers.is_empty() && self.cells[cell].launch() == Some(launch))
                .then_some((cell << self.shift, 1 << self.shift))
        })
    }
}

#[cfg(test)]
mod tests;
