//! Encodes pages of shadow memory that do not fit in memory.

use super::file::{next, next_items};
use crate::communication::output::detail::Touched;
use crate::communication::state::cells::{Cells, MultipleWriters, Writer};
use crate::communication::state::ranges::Ranges;
use crate::communication::state::shadow::{Extra, Layout, PAGE_BYTES, Page, Tag};
use zerocopy::IntoBytes;

pub(crate) fn put(number: u64, page: &Page, out: &mut Vec<u8>) {
    let Extra { starts, sites } = page.extra;
    let has_cells = matches!(page.layout, Layout::Cells(_));
    out.extend(number.as_bytes());
    out.push(page.shift as u8);
    out.extend([starts, sites, has_cells].map(u8::from));
    out.extend(page.counted.as_bytes());
    match &page.layout {
        Layout::Ranges(ranges) => out.extend(ranges.as_bytes()),
        Layout::Cells(cells) => put_cells(cells, out),
    }
}

fn put_cells(cells: &Cells, out: &mut Vec<u8>) {
    // Adjacent cells usually have the same writer.
    for run in cells.tags.chunk_by(|a, b| a == b) {
        out.extend(run[0].0.as_bytes());
        out.extend((run.len() as u16).as_bytes());
    }
    out.extend(cells.starts.as_bytes());
    out.extend(cells.sites.as_bytes());
    out.extend((cells.multiple.len() as u16).as_bytes());
    for entry in &cells.multiple {
        out.extend(entry.cell.as_bytes());
        out.push(entry.all_counted);
        out.extend((entry.writers.len() as u32).as_bytes());
        for writer in &entry.writers {
            out.extend(writer.cta.as_bytes());
            out.push(writer.counted);
        }
    }
}

/// Decodes the next page and removes it from `bytes`; returns `None` at the end or if the bytes are not a page.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<(u64, Page)> {
    let number = next(bytes)?;
    let shift: u8 = next(bytes)?;
    let [starts, sites, has_cells] = next::<[u8; 3]>(bytes)?.map(|flag| flag == 1);
    let extra = Extra { starts, sites };
    let mut page = Page::new(Tag::UNWRITTEN, shift == 2, extra);
    page.counted = next(bytes)?;
    page.layout = match has_cells {
        true => Layout::Cells(next_cells(bytes, PAGE_BYTES >> page.shift, extra)?),
        false => Layout::Ranges(next::<Ranges>(bytes).filter(Ranges::is_valid)?),
    };
    Some((number, page))
}

fn next_cells(bytes: &mut &[u8], count: usize, extra: Extra) -> Option<Cells> {
    let mut cells = Cells::default();
    while cells.tags.len() < count {
        let tag = Tag(next(bytes)?);
        let more = usize::from(next::<u16>(bytes)?);
        cells.tags.extend(std::iter::repeat_n(tag, more));
        if more == 0 || cells.tags.len() > count {
            return None;
        }
    }
    cells.starts = next_items(bytes, if extra.starts { count } else { 0 })?;
    cells.sites = next_items(bytes, if extra.sites { count } else { 0 })?;
    for index in 0..next::<u16>(bytes)? {
        let (cell, all_counted) = (next(bytes)?, next(bytes)?);
        let writers = 0..next::<u32>(bytes)?;
        if writers.is_empty() {
            cells.free.push(index);
        }
        let mut writer = || {
            let (cta, counted) = (next(bytes)?, next(bytes)?);
            Some(Writer { cta, counted })
        };
        cells.multiple.push(MultipleWriters {
            writers: writers.map(|_| writer()).collect::<Option<_>>()?,
            cell,
            all_counted,
        });
    }
    Some(cells)
}

/// Appends the touched bytes of page `number` to `out`.
pub(crate) fn put_touched(number: u64, touched: &Touched, out: &mut Vec<u8>) {
    out.extend(number.as_bytes());
    out.extend(touched.as_bytes());
}

/// Decodes the output of [`put_touched`] in the same way as [`take`] decodes a page.
pub(crate) fn take_touched(bytes: &mut &[u8]) -> Option<(u64, Touched)> {
    next(bytes).zip(next(bytes))
}

#[cfg(test)]
mod tests;
