//! Encodes pages of shadow memory that do not fit in memory.

use super::file::Fixed;
use crate::communication::output::detail::Touched;
use crate::communication::state::bitmap::WORDS;
use crate::communication::state::shadow::{
    MultipleWriters, PAGE_BYTES, Page, PerCell, Tag, Writer,
};

pub(crate) fn put(number: u64, page: &Page, out: &mut Vec<u8>) {
    out.extend(number.to_le_bytes());
    out.extend([
        page.shift as u8,
        u8::from(!page.starts.is_empty()),
        u8::from(!page.sites.is_empty()),
    ]);
    // Adjacent cells usually have the same writer.
    for run in page.cells.chunk_by(|a, b| a == b) {
        out.extend(run[0].0.to_le_bytes());
        out.extend((run.len() as u16).to_le_bytes());
    }
    for word in page.counted {
        out.extend(word.to_le_bytes());
    }
    for start in &page.starts {
        out.extend(start.to_le_bytes());
    }
    for site in &page.sites {
        out.extend(site.to_le_bytes());
    }
    out.extend((page.multiple.len() as u16).to_le_bytes());
    for entry in &page.multiple {
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
    let per_cell = PerCell {
        starts: flag()?,
        sites: flag()?,
    };
    let cells = PAGE_BYTES >> shift.min(2);
    let mut page = Page::new(Tag::UNWRITTEN, shift == 2, per_cell);
    page.cells.clear();
    while page.cells.len() < cells {
        let tag = Tag(next(bytes)?);
        let count = usize::from(next::<u16>(bytes)?);
        page.cells.extend(std::iter::repeat_n(tag, count));
        if count == 0 || page.cells.len() > cells {
            return None;
        }
    }
    for word in 0..WORDS {
        page.counted[word] = next(bytes)?;
    }
    for start in &mut page.starts {
        *start = next(bytes)?;
    }
    for site in &mut page.sites {
        *site = next(bytes)?;
    }
    let entries = next::<u16>(bytes)?;
    for index in 0..entries {
        let cell = next(bytes)?;
        let all_counted = next(bytes)?;
        let writers: u32 = next(bytes)?;
        if writers == 0 {
            page.free.push(index);
        }
        let writers = (0..writers)
            .map(|_| {
                let cta = next(bytes)?;
                let counted = next(bytes)?;
                Some(Writer { cta, counted })
            })
            .collect::<Option<_>>()?;
        page.multiple.push(MultipleWriters {
            writers,
            cell,
            all_counted,
        });
    }
    Some((number, page))
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
