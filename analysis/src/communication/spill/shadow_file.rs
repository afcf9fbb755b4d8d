//! Encodes pages of shadow memory that do not fit in memory.

use super::file::Fixed;
use crate::communication::output::detail::Touched;
use crate::communication::state::bitmap::WORDS;
use crate::communication::state::cells::{Cells, MultipleWriters, Writer};
use crate::communication::state::ranges::{Ranges, Store};
use crate::communication::state::shadow::{Extra, Layout, PAGE_BYTES, Page, Tag};

/// Precedes a page's cells; ranges begin with an end, which is not 0.
const CELLS: u16 = 0;

pub(crate) fn put(number: u64, page: &Page, out: &mut Vec<u8>) {
    out.extend(number.to_le_bytes());
    let Extra { starts, sites } = page.extra;
    out.extend([page.shift as u8, u8::from(starts), u8::from(sites)]);
    for word in page.counted {
        out.extend(word.to_le_bytes());
    }
    let cells = match &page.layout {
        Layout::Ranges(ranges) => {
            for (end, store) in ranges.iter() {
                out.extend((end as u16).to_le_bytes());
                out.extend(store.tag.0.to_le_bytes());
                out.extend(store.site.to_le_bytes());
                out.extend(store.first.to_le_bytes());
                out.extend(store.width.to_le_bytes());
            }
            return;
        }
        Layout::Cells(cells) => cells,
    };
    out.extend(CELLS.to_le_bytes());
    // Adjacent cells usually have the same writer.
    for run in cells.tags.chunk_by(|a, b| a == b) {
        out.extend(run[0].0.to_le_bytes());
        out.extend((run.len() as u16).to_le_bytes());
    }
    for start in &cells.starts {
        out.extend(start.to_le_bytes());
    }
    for site in &cells.sites {
        out.extend(site.to_le_bytes());
    }
    out.extend((cells.multiple.len() as u16).to_le_bytes());
    for entry in &cells.multiple {
        out.extend(entry.cell.to_le_bytes());
        out.push(entry.all_counted);
        out.extend((entry.writers.len() as u32).to_le_bytes());
        for writer in &entry.writers {
            out.extend(writer.cta.to_le_bytes());
            out.push(writer.counted);
        }
    }
}

/// Decodes the next page and removes it from `bytes`; returns `None` at the end or if the bytes are not a page.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<(u64, Page)> {
    let number = next(bytes)?;
    let shift: u8 = next(bytes)?;
    let mut flag = || Some(next::<u8>(bytes)? == 1);
    let extra = Extra {
        starts: flag()?,
        sites: flag()?,
    };
    let mut page = Page::new(Tag::UNWRITTEN, shift == 2, extra);
    for word in 0..WORDS {
        page.counted[word] = next(bytes)?;
    }
    let mut end: u16 = next(bytes)?;
    if end == CELLS {
        page.layout = Layout::Cells(take_cells(bytes, PAGE_BYTES >> page.shift, extra)?);
        return Some((number, page));
    }
    let (mut ranges, mut at) = (Ranges::new(Tag::UNWRITTEN), 0);
    loop {
        let store = Store {
            tag: Tag(next(bytes)?),
            site: next(bytes)?,
            first: next(bytes)?,
            width: next(bytes)?,
        };
        let offset = usize::from(end);
        if store.width == 0
            || usize::from(store.first) >= PAGE_BYTES
            || !(at + 1..=PAGE_BYTES).contains(&offset)
            || !ranges.set(at, offset, store)
        {
            return None;
        }
        if offset == PAGE_BYTES {
            page.layout = Layout::Ranges(ranges);
            return Some((number, page));
        }
        (at, end) = (offset, next(bytes)?);
    }
}

fn take_cells(bytes: &mut &[u8], count: usize, extra: Extra) -> Option<Cells> {
    let mut cells = Cells::default();
    while cells.tags.len() < count {
        let tag = Tag(next(bytes)?);
        let more = usize::from(next::<u16>(bytes)?);
        cells.tags.extend(std::iter::repeat_n(tag, more));
        if more == 0 || cells.tags.len() > count {
            return None;
        }
    }
    if extra.starts {
        cells.starts = (0..count).map(|_| next(bytes)).collect::<Option<_>>()?;
    }
    if extra.sites {
        cells.sites = (0..count).map(|_| next(bytes)).collect::<Option<_>>()?;
    }
    let entries = next::<u16>(bytes)?;
    for index in 0..entries {
        let cell = next(bytes)?;
        let all_counted = next(bytes)?;
        let writers: u32 = next(bytes)?;
        if writers == 0 {
            cells.free.push(index);
        }
        let writers = (0..writers)
            .map(|_| {
                let cta = next(bytes)?;
                let counted = next(bytes)?;
                Some(Writer { cta, counted })
            })
            .collect::<Option<_>>()?;
        cells.multiple.push(MultipleWriters {
            writers,
            cell,
            all_counted,
        });
    }
    Some(cells)
}

/// Appends the touched bytes of page `number` to `out`.
pub(crate) fn put_touched(number: u64, touched: &Touched, out: &mut Vec<u8>) {
    out.extend(number.to_le_bytes());
    out.extend(touched.launch.to_le_bytes());
    for word in touched.last.iter().chain(&touched.ever) {
        out.extend(word.to_le_bytes());
    }
}

/// Decodes the output of [`put_touched`] in the same way as [`take`] decodes a page.
pub(crate) fn take_touched(bytes: &mut &[u8]) -> Option<(u64, Touched)> {
    let number = next(bytes)?;
    let mut touched = Touched::new();
    touched.launch = next(bytes)?;
    for word in touched.last.iter_mut().chain(&mut touched.ever) {
        *word = next(bytes)?;
    }
    Some((number, touched))
}

fn next<T: Fixed>(bytes: &mut &[u8]) -> Option<T> {
    let (first, rest) = bytes.split_at_checked(T::BYTES)?;
    *bytes = rest;
    Some(T::get(first))
}

#[cfg(test)]
mod tests;
