//! The last writers of a page with one entry per cell, including cells that multiple CTAs wrote in a launch.

use super::ranges::{Ranges, Store};
use super::shadow::{Extra, Tag};
use smallvec::SmallVec;
use std::ops::Range;

/// The two or more CTAs that wrote one cell in one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MultipleWriters {
    /// Writers, sorted by CTA; usually two.
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

/// Cells of `1 << shift` bytes each; see [`super::shadow::Page::shift`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cells {
    pub(crate) tags: Vec<Tag>,
    /// Writers of the cells with multiple writers; an entry without writers is free.
    pub(crate) multiple: Vec<MultipleWriters>,
    /// Indices of the free entries in `multiple`.
    pub(crate) free: Vec<u16>,
    /// See [`Extra::starts`]; empty if not kept.
    pub(crate) starts: Vec<u16>,
    /// See [`Extra::sites`]; empty if not kept.
    pub(crate) sites: Vec<u32>,
}

impl Cells {
    pub(crate) fn new(ranges: &Ranges, shift: u32, extra: Extra) -> Self {
        let mut cells = Self::default();
        let mut offset = 0;
        for (end, store) in ranges.iter() {
            let offsets = (offset..end).step_by(1 << shift);
            cells.tags.extend(offsets.clone().map(|_| store.tag));
            if extra.starts {
                (cells.starts).extend(offsets.clone().map(|offset| store.start(offset) as u16));
            }
            if extra.sites {
                cells.sites.extend(offsets.map(|_| store.site));
            }
            offset = end;
        }
        cells
    }

    pub(crate) fn bytes(&self) -> usize {
        self.tags.len() * 8
            + self.starts.len() * 2
            + self.sites.len() * 4
            + self.multiple.len() * 40
    }

    /// Returns the instruction that wrote the cell at `offset` and the end of its run of cells, at most `end`.
    #[inline]
    pub(crate) fn site_end(&self, offset: usize, end: usize, shift: u32) -> (u32, usize) {
        let (mut cell, end) = (offset >> shift, (end - 1) >> shift);
        let site = self.sites[cell];
        while cell <= end && self.sites[cell] == site {
            cell += 1;
        }
        (site, cell << shift)
    }

    #[inline]
    pub(crate) fn segment(&self, offset: usize, end: usize, shift: u32) -> (Tag, usize) {
        let (first, last) = (offset >> shift, (end - 1) >> shift);
        let tag = self.tags[first];
        match self.tags[first + 1..=last].iter().position(|&t| t != tag) {
            Some(more) => (tag, (first + 1 + more) << shift),
            None => (tag, end),
        }
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

    /// Frees the entry that `old`, the previous tag of a cell, refers to.
    #[inline]
    fn free_entry(&mut self, old: Tag) {
        if let Some(index) = old.writers_index() {
            self.multiple[index].writers.clear();
            self.free.push(index as u16);
        }
    }

    /// Splits cells of `1 << shift` bytes into one per byte.
    pub(crate) fn split(&mut self, shift: u32) {
        fn repeated<T: Copy>(cells: &mut Vec<T>, times: usize) {
            let old = std::mem::take(cells).into_iter();
            *cells = old
                .flat_map(|cell| std::iter::repeat_n(cell, times))
                .collect();
        }
        let bytes = 1 << shift;
        repeated(&mut self.tags, bytes);
        repeated(&mut self.starts, bytes);
        repeated(&mut self.sites, bytes);
        let entries = std::mem::take(&mut self.multiple);
        self.free.clear();
        for entry in entries.iter().filter(|entry| !entry.writers.is_empty()) {
            for byte in 0..bytes {
                let cell = usize::from(entry.cell) << shift | byte;
                let launch = self.tags[cell].launch().unwrap_or_default();
                let index = self.take_entry(cell);
                self.tags[cell] = Tag::multiple(launch, index);
                let part = &mut self.multiple[usize::from(index)];
                (part.writers).extend(entry.writers.iter().map(|writer| Writer {
                    cta: writer.cta,
                    counted: writer.counted >> byte & 1,
                }));
                part.all_counted = entry.all_counted >> byte & 1;
            }
        }
    }

    pub(crate) fn set(&mut self, cells: Range<usize>, tag: Tag) {
        if self.has_multiple_writers() {
            for cell in cells.clone() {
                self.free_entry(self.tags[cell]);
            }
        }
        self.tags[cells].fill(tag);
    }

    /// Records the stores to `offset..offset + len`.
    #[inline]
    pub(crate) fn write(&mut self, (offset, len): (usize, usize), store: Store, shift: u32) {
        let Some(launch) = store.tag.launch() else {
            return;
        };
        let cells = offset >> shift..(offset + len) >> shift;
        if !self.starts.is_empty() {
            let width = usize::from(store.width);
            for start in (offset..offset + len).step_by(width) {
                let cells = start >> shift..(start + width) >> shift;
                let starts = &mut self.starts[cells.clone()];
                keep_largest(starts, &self.tags[cells], start as u16, launch);
            }
        }
        if !self.sites.is_empty() {
            let sites = &mut self.sites[cells.clone()];
            keep_largest(sites, &self.tags[cells.clone()], store.site, launch);
        }
        for cell in cells {
            let old = self.tags[cell];
            if old == store.tag {
                continue;
            }
            if old.launch() == Some(launch) {
                self.write_again(cell, old, launch, store.tag.cta_number());
            } else {
                self.tags[cell] = store.tag;
                self.free_entry(old);
            }
        }
    }

    #[cold]
    fn write_again(&mut self, cell: usize, old: Tag, launch: u32, cta: u32) {
        let index = old.writers_index().unwrap_or_else(|| {
            let index = self.take_entry(cell);
            self.tags[cell] = Tag::multiple(launch, index);
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

    /// Returns the cells that multiple CTAs wrote in launch `launch`.
    pub(crate) fn written_by_multiple(&self, launch: u32) -> impl Iterator<Item = usize> + '_ {
        let entries = self
            .multiple
            .iter()
            .filter(|entry| !entry.writers.is_empty());
        let cells = entries.map(|entry| usize::from(entry.cell));
        cells.filter(move |&cell| self.tags[cell].launch() == Some(launch))
    }
}

/// Sets the values of cells before they are written; if a launch writes a cell again, the larger value is kept.
fn keep_largest<T: Copy + Default + Ord>(values: &mut [T], tags: &[Tag], new: T, launch: u32) {
    for (old, tag) in values.iter_mut().zip(tags) {
        let is_same_launch = tag.launch() == Some(launch);
        *old = new.max(if is_same_launch { *old } else { T::default() });
    }
}
