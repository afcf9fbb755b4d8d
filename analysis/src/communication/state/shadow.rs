//! Shadow memory of one page: the last writer of each byte.
//!
//! A few ranges describe the writers of most pages. A page that needs more, or has bytes that multiple CTAs wrote in
//! a launch, has cells instead, one per aligned 4-byte word. It is split into one cell per byte when part of a word is
//! written; most pages are never split.

use super::bitmap::{WORDS, for_each_word};
use super::cells::{Cells, MultipleWriters};
use super::ranges::{Ranges, Store};
use std::ops::Range;
use superstep_trace::SiteId;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Size of a page of shadow memory, unrelated to the operating system's pages.
pub(crate) const PAGE_BYTES: usize = 4096;

#[inline]
pub(crate) fn page_of(address: u64) -> u64 {
    address / PAGE_BYTES as u64
}

/// Returns the cells of `1 << shift` bytes that contain `offset..offset + len`; `len` must not be 0.
#[inline]
pub(crate) fn cells(shift: u32, offset: usize, len: usize) -> Range<usize> {
    offset >> shift..((offset + len - 1) >> shift) + 1
}

#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
)]
#[repr(transparent)]
pub(crate) struct Tag(pub(crate) u64);

impl Tag {
    pub(crate) const UNWRITTEN: Tag = Tag(0);
    pub(crate) const HOST: Tag = Tag(1);
    /// Untraced code that may have written the byte, or else whoever wrote it before.
    pub(crate) const UNKNOWN: Tag = Tag(2);
    /// Bit that is set if multiple CTAs wrote; the lower bits are then an index into [`Cells::multiple`] instead of a
    /// CTA number. CTA numbers are smaller.
    pub(crate) const MULTIPLE: u32 = 1 << 31;

    /// Returns the tag of CTA `cta` in the launch at position `launch`.
    #[inline]
    pub(crate) fn cta(launch: u32, cta: u32) -> Self {
        Tag((u64::from(launch) + 1) << 32 | u64::from(cta))
    }

    /// Returns the tag of multiple CTAs in launch `launch`, listed at `index` in [`Cells::multiple`].
    pub(crate) fn multiple(launch: u32, index: u16) -> Self {
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
    pub(crate) fn writers_index(self) -> Option<usize> {
        (self.has_multiple_writers()).then_some((self.0 as u32 & !Self::MULTIPLE) as usize)
    }
}

/// The properties of the last store to each byte that a page keeps in addition to the writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    /// Whether to keep the store's offset: the largest one if multiple stores in a launch wrote the byte's cell.
    pub(crate) starts: bool,
    /// Whether to keep the instruction's site: the largest one if multiple instructions in a launch wrote the cell.
    pub(crate) sites: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) layout: Layout,
    /// Binary logarithm of a cell's size in bytes: 2 or 0.
    pub(crate) shift: u32,
    /// One bit for each byte with a single writer, set if another entity has read the byte since the write.
    pub(crate) counted: [u64; WORDS],
    pub(crate) extra: Extra,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Ranges(Ranges),
    Cells(Cells),
}

impl Page {
    /// Creates a page whose last writer is `tag` everywhere, with one cell per word if `words` is set, or per byte.
    pub(crate) fn new(tag: Tag, words: bool, extra: Extra) -> Self {
        Self {
            layout: Layout::Ranges(Ranges::new(tag)),
            shift: if words { 2 } else { 0 },
            counted: [0; WORDS],
            extra,
        }
    }

    /// Returns the offset of the store that wrote the byte at `offset`. The page must keep `starts`.
    #[inline]
    pub(crate) fn start(&self, offset: usize) -> usize {
        match &self.layout {
            Layout::Ranges(ranges) => ranges.start(offset),
            Layout::Cells(cells) => usize::from(cells.starts[offset >> self.shift]),
        }
    }

    /// Splits `at..at + len` where the instruction that wrote the bytes changes; returns the length and the instruction
    /// of each part. The page must keep `sites`.
    #[inline]
    pub(crate) fn writers(&self, at: usize, len: usize) -> impl Iterator<Item = (usize, SiteId)> {
        let (mut at, end) = (at, at + len);
        std::iter::from_fn(move || {
            let start = (at < end).then_some(at)?;
            let site;
            (site, at) = match &self.layout {
                Layout::Ranges(ranges) => ranges.site_end(start),
                Layout::Cells(cells) => cells.site_end(start, end, self.shift),
            };
            Some((at.min(end) - start, SiteId(site)))
        })
    }

    /// Returns the stores that wrote the lowest of `bits` in word `word`, and perhaps the following ones: the offset of
    /// the first store, the distance between stores, and their count. Also returns a mask of the bytes that they wrote.
    /// All bytes in `bits` must have the same writer, and the page must keep `starts`.
    #[inline]
    pub(crate) fn stores(&self, word: usize, bits: u64) -> ((usize, usize, usize), u64) {
        let bit = bits.trailing_zeros() as usize;
        let at = word * 64 + bit;
        match &self.layout {
            Layout::Ranges(ranges) => {
                let adjacent = (bits >> bit).trailing_ones() as usize;
                let (stores, end) = ranges.stores(at, at + adjacent);
                (stores, (u64::MAX >> (64 - (end - at))) << bit)
            }
            Layout::Cells(cells) => {
                let cell = ((1 << (1 << self.shift)) - 1) << (bit >> self.shift << self.shift);
                let start = usize::from(cells.starts[at >> self.shift]);
                ((start, 0, 1), cell)
            }
        }
    }

    #[inline]
    pub(crate) fn tag(&self, offset: usize) -> Tag {
        match &self.layout {
            Layout::Ranges(ranges) => ranges.tag(offset),
            Layout::Cells(cells) => cells.tags[offset >> self.shift],
        }
    }

    /// Stores the last writers of the bytes at `offsets` in `tags`.
    #[inline]
    pub(crate) fn tags(&self, offsets: impl Iterator<Item = usize>, tags: &mut [Tag]) {
        let tags = tags.iter_mut().zip(offsets);
        match &self.layout {
            Layout::Ranges(ranges) => tags.for_each(|(tag, at)| *tag = ranges.tag(at)),
            Layout::Cells(cells) => {
                tags.for_each(|(tag, at)| *tag = cells.tags[at >> self.shift]);
            }
        }
    }

    /// Returns the last writer of all bytes of an access that fills whole cells, or `None` if there is more than one.
    #[inline]
    pub(crate) fn common_tag(&self, offset: usize, len: usize) -> Option<Tag> {
        let (tag, end) = self.segment(offset, offset + len);
        (end == offset + len).then_some(tag)
    }

    pub(crate) fn bytes(&self) -> usize {
        let cells = match &self.layout {
            Layout::Ranges(_) => 0,
            Layout::Cells(cells) => cells.bytes(),
        };
        size_of::<Self>() + cells
    }

    /// Returns the last writer of the byte at `offset`, and the first later offset with a different one, at most `end`.
    #[inline]
    pub(crate) fn segment(&self, offset: usize, end: usize) -> (Tag, usize) {
        match &self.layout {
            Layout::Ranges(ranges) => ranges.segment(offset, end),
            Layout::Cells(cells) => cells.segment(offset, end, self.shift),
        }
    }

    pub(crate) fn has_unwritten(&self) -> bool {
        match &self.layout {
            Layout::Ranges(ranges) => (ranges.iter()).any(|(_, store)| store.tag == Tag::UNWRITTEN),
            Layout::Cells(cells) => cells.tags.contains(&Tag::UNWRITTEN),
        }
    }

    /// Returns the writers of the cell at `offset` if there is more than one, and the byte's bit in
    /// [`super::cells::Writer::counted`].
    #[inline]
    pub(crate) fn multiple_writers(&mut self, offset: usize) -> Option<(&mut MultipleWriters, u8)> {
        let Layout::Cells(cells) = &mut self.layout else {
            return None;
        };
        let bit = 1 << (offset & ((1 << self.shift) - 1));
        let index = cells.tags[offset >> self.shift].writers_index()?;
        cells.multiple.get_mut(index).map(|entry| (entry, bit))
    }

    #[inline]
    pub(crate) fn is_one_cell(&self, offset: usize, len: usize) -> bool {
        offset >> self.shift == (offset + len - 1) >> self.shift
    }

    /// Marks `bits` of word `word`, which must have single writers, as read by another entity; returns those that were
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
            if let Layout::Cells(cells) = &mut self.layout {
                cells.split(self.shift);
            }
            self.shift = 0;
        }
    }

    /// Returns the cells, which are created from the ranges if needed.
    fn cells(&mut self) -> &mut Cells {
        if let Layout::Ranges(ranges) = &self.layout {
            self.layout = Layout::Cells(Cells::new(ranges, self.shift, self.extra));
        }
        match &mut self.layout {
            Layout::Cells(cells) => cells,
            Layout::Ranges(_) => unreachable!("the ranges were replaced"),
        }
    }

    /// Sets the last writer of a range to `tag`, which must not be the tag of a CTA.
    pub(crate) fn set(&mut self, offset: usize, len: usize, tag: Tag) {
        if len == 0 {
            return;
        }
        self.fit(offset, len);
        let end = offset + len;
        let is_set = match &mut self.layout {
            Layout::Ranges(ranges) => ranges.set(offset, end, Store::untraced(tag)),
            Layout::Cells(_) => false,
        };
        if !is_set {
            let shift = self.shift;
            self.cells().set(offset >> shift..end >> shift, tag);
        }
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
        let Extra { starts, sites } = self.extra;
        self.fit(offset, if starts { len | width } else { len });
        let (first, width) = if starts { (offset, width) } else { (0, 1) };
        let store = Store {
            tag: Tag::cta(launch, cta),
            site: if sites { site.0 } else { 0 },
            first: first as u16,
            width: width as u16,
        };
        let is_written = match &mut self.layout {
            Layout::Ranges(ranges) => ranges.write(offset, offset + len, store),
            Layout::Cells(_) => false,
        };
        if !is_written {
            let shift = self.shift;
            self.cells().write((offset, len), store, shift);
        }
        for_each_word(offset, len, |word, mask| self.counted[word] &= !mask);
    }

    #[inline]
    pub(crate) fn has_multiple_writers(&self) -> bool {
        match &self.layout {
            Layout::Ranges(_) => false,
            Layout::Cells(cells) => cells.has_multiple_writers(),
        }
    }

    /// Returns the byte ranges (offset, length) that multiple CTAs wrote in launch `launch`.
    pub(crate) fn written_by_multiple(
        &self,
        launch: u32,
    ) -> impl Iterator<Item = (usize, usize)> + '_ {
        let cells = match &self.layout {
            Layout::Ranges(_) => None,
            Layout::Cells(cells) => Some(cells.written_by_multiple(launch)),
        };
        let shift = self.shift;
        (cells.into_iter().flatten()).map(move |cell| (cell << shift, 1 << shift))
    }
}

#[cfg(test)]
mod tests;
