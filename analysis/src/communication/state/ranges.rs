//! The last writers of a page if a few ranges can describe them, as is usual in regular programs.

use super::shadow::{PAGE_BYTES, Tag};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Maximum number of ranges in a page; a page with more writers has one entry per cell instead.
const MAX_RANGES: usize = 16;

/// The last store to the bytes of a range: consecutive accesses by one CTA and one instruction, or a non-kernel write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Store {
    pub(crate) tag: Tag,
    pub(crate) site: u32,
    /// Offset of one of the accesses; the others are multiples of `width` away.
    pub(crate) first: u16,
    pub(crate) width: u16,
}

impl Store {
    /// Returns the store of a writer whose individual accesses do not matter.
    pub(crate) fn untraced(tag: Tag) -> Self {
        Self {
            tag,
            width: 1,
            ..Self::default()
        }
    }

    /// Returns the offset of the access that wrote the byte at `offset`.
    pub(crate) fn start(&self, offset: usize) -> usize {
        let (first, width) = (usize::from(self.first), usize::from(self.width));
        // Adding the page size keeps the difference positive.
        offset - (offset + PAGE_BYTES * width - first) % width
    }

    /// Returns whether both stores consist of accesses by the same CTA that are either equal or disjoint.
    fn is_aligned_with(&self, other: &Self) -> bool {
        (self.tag, self.width) == (other.tag, other.width)
            && self.start(usize::from(other.first)) == usize::from(other.first)
    }

    fn is_continued_by(&self, next: &Self) -> bool {
        self.site == next.site && self.is_aligned_with(next)
    }
}

/// Ranges that cover a page, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Ranges {
    /// Exclusive ends. The last range ends with the page; the rest of the array repeats that end.
    ends: [u16; MAX_RANGES],
    stores: [Store; MAX_RANGES],
}

impl Ranges {
    pub(crate) fn new(tag: Tag) -> Self {
        let mut stores = [Store::default(); MAX_RANGES];
        stores[0] = Store::untraced(tag);
        Self {
            ends: [PAGE_BYTES as u16; MAX_RANGES],
            stores,
        }
    }

    /// Returns whether ranges read from a file cover a page.
    pub(crate) fn is_valid(&self) -> bool {
        let is_store = |store: &Store| store.width > 0 && usize::from(store.first) < PAGE_BYTES;
        self.ends.is_sorted()
            && self.end(MAX_RANGES - 1) == PAGE_BYTES
            && self.iter().all(|(_, store)| is_store(store))
    }

    /// Returns the index of the range that contains the byte at `offset`.
    #[inline]
    fn index(&self, offset: usize) -> usize {
        // Branch-free, since reads of a page may be scattered.
        let before = |end: &u16| usize::from(usize::from(*end) <= offset);
        self.ends.iter().map(before).sum()
    }

    fn begin(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| self.end(before))
    }

    fn end(&self, index: usize) -> usize {
        usize::from(self.ends[index])
    }

    #[inline]
    pub(crate) fn tag(&self, offset: usize) -> Tag {
        self.stores[self.index(offset)].tag
    }

    /// Returns the offset of the access that wrote the byte at `offset`.
    pub(crate) fn start(&self, offset: usize) -> usize {
        self.stores[self.index(offset)].start(offset)
    }

    /// Returns the accesses that wrote the bytes from `at` to `end` or to the end of the range that contains `at`: the
    /// offset of the first, the distance between them, and their count. Also returns the end of these bytes.
    #[inline]
    pub(crate) fn stores(&self, at: usize, end: usize) -> ((usize, usize, usize), usize) {
        let index = self.index(at);
        let (store, end) = (&self.stores[index], end.min(self.end(index)));
        let (first, width) = (store.start(at), usize::from(store.width));
        (
            (first, width, (store.start(end - 1) - first) / width + 1),
            end,
        )
    }

    /// Returns the last writer of the byte at `offset`, and the end of the following bytes with the same writer, but
    /// at most `end`.
    #[inline]
    pub(crate) fn segment(&self, offset: usize, end: usize) -> (Tag, usize) {
        let mut index = self.index(offset);
        let tag = self.stores[index].tag;
        while self.end(index) < end && self.stores[index + 1].tag == tag {
            index += 1;
        }
        (tag, end.min(self.end(index)))
    }

    /// Returns the instruction that wrote the byte at `offset`, and the end of the range that it wrote.
    #[inline]
    pub(crate) fn site_end(&self, offset: usize) -> (u32, usize) {
        let index = self.index(offset);
        (self.stores[index].site, self.end(index))
    }

    /// Returns the ends of all ranges and their stores, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Store)> {
        self.from(0)
    }

    /// Returns the end and the store of the range that contains the byte at `offset`, and of all later ranges.
    #[inline]
    pub(crate) fn from(&self, offset: usize) -> impl Iterator<Item = (usize, &Store)> {
        let last = self.index(PAGE_BYTES - 1);
        (self.index(offset)..=last).map(|index| (self.end(index), &self.stores[index]))
    }

    /// Records a traced store to `start..end`; returns false and changes nothing if ranges cannot describe it.
    #[inline]
    #[must_use]
    pub(crate) fn write(&mut self, start: usize, end: usize, store: Store) -> bool {
        let (first, last) = (self.index(start), self.index(end - 1));
        for old in &self.stores[first..=last] {
            if old.tag.launch() != store.tag.launch() {
                continue;
            }
            if !old.is_aligned_with(&store) || (old.site > store.site && first != last) {
                return false;
            }
            if old.site >= store.site && first == last {
                return true;
            }
        }
        self.set(start, end, store)
    }

    /// Sets the last store to `start..end`; returns false and changes nothing if there would be too many ranges.
    #[must_use]
    pub(crate) fn set(&mut self, start: usize, end: usize, store: Store) -> bool {
        let (first, last) = (self.index(start), self.index(end - 1));
        // Most stores continue the range before them.
        if first == last
            && first > 0
            && self.begin(first) == start
            && end < self.end(last)
            && self.stores[first - 1].is_continued_by(&store)
        {
            self.ends[first - 1] = end as u16;
            return true;
        }
        let mut new = Self::new(Tag::UNWRITTEN);
        let mut count = 0_usize;
        let mut push = |end: usize, store: &Store| {
            if let Some(before) = count.checked_sub(1)
                && new.stores[before].is_continued_by(store)
            {
                new.ends[before] = end as u16;
                return true;
            }
            if count == MAX_RANGES {
                return false;
            }
            (new.ends[count], new.stores[count]) = (end as u16, *store);
            count += 1;
            true
        };
        let before = (0..first).map(|index| (self.end(index), &self.stores[index]));
        let cut = (self.begin(first) < start).then(|| (start, &self.stores[first]));
        let rest = (end < self.end(last)).then(|| (self.end(last), &self.stores[last]));
        let after = self
            .from(end.min(PAGE_BYTES - 1))
            .skip(usize::from(rest.is_some()));
        let after = after.filter(|_| end < PAGE_BYTES);
        let all = before
            .chain(cut)
            .chain([(end, &store)])
            .chain(rest)
            .chain(after);
        for (end, store) in all {
            if !push(end, store) {
                return false;
            }
        }
        *self = new;
        true
    }
}
