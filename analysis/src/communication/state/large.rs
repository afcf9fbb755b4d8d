//! Launches whose accesses, concentrated in a few pages, do not fit in memory. Their records are sorted on disk by page and
//! CTA, and a large page's records are read again for each pass; only the page and one CTA's records are in memory.

use super::bitmap::Bitmap;
use super::host::Untraced;
use super::shadow::PAGE_BYTES;
use super::shard::{Records, Scratch, Shard, fresh_page, never_read, parts_of, write};
use super::unwritten::{but_for, never_in};
use crate::communication::input::block::Gathered;
use crate::communication::input::record::{Record, Survey};
use crate::communication::output::detail::Touches;
use crate::communication::output::sums::View;
use crate::communication::spill::file::{Fixed, fixed};
use crate::communication::spill::sorted::{Item, Sorted, Sorter};
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// A record with its position in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Ordered {
    record: Record,
    number: u64,
}

fixed!(Ordered {
    record: Record,
    number: u64
});

impl Item for Ordered {
    #[inline]
    fn key(&self) -> u128 {
        // The parts have 52, 31, 11 and 34 bits.
        let (page, cta) = (u128::from(self.record.page()), u128::from(self.record.cta));
        let phase = u128::from(self.record.phase());
        page << 76 | cta << 45 | phase << 34 | u128::from(self.number)
    }

    fn join(&mut self, _: &Self) -> bool {
        false
    }
}

/// One page's records in `sorted`.
struct PageRecords<'a> {
    sorted: &'a Sorted<Ordered>,
    range: Range<u64>,
}

impl PageRecords<'_> {
    fn ctas(&self, mut sink: impl FnMut(&[Record]) -> Result<()>) -> Result<()> {
        let mut records: Vec<Record> = Vec::new();
        self.sorted
            .part(self.range.clone(), |Ordered { record, .. }| {
                if records.last().is_some_and(|last| last.cta != record.cta) {
                    sink(&records)?;
                    records.clear();
                }
                records.push(*record);
                Ok(())
            })?;
        match records.is_empty() {
            true => Ok(()),
            false => sink(&records),
        }
    }
}

impl Shard {
    pub(crate) fn large_launch(
        &mut self,
        view: &View,
        untraced: &Untraced,
        scratch: &mut Scratch,
        of: &Records<'_>,
    ) -> Result<()> {
        let sorted = ordered(view, of)?;
        let mut pages: Vec<Range<u64>> = Vec::new();
        let (mut last, mut at) = (None, 0);
        sorted.each(|Ordered { record, .. }| {
            match pages.last_mut() {
                Some(range) if last == Some(record.page()) => range.end += 1,
                _ => pages.push(at..at + 1),
            }
            (last, at) = (Some(record.page()), at + 1);
            Ok(())
        })?;
        for range in pages {
            view.cancellation.check()?;
            let is_large = range.end - range.start > of.most as u64 / 2;
            let sorted = &sorted;
            let page = PageRecords { sorted, range };
            if is_large {
                self.large_page(view, untraced, scratch, &page)?;
            } else {
                let mut records = Vec::new();
                page.ctas(|more| {
                    records.extend_from_slice(more);
                    Ok(())
                })?;
                self.page(view, untraced, scratch, &records, &Survey::of(&records))?;
            }
        }
        Ok(())
    }

    /// Like [`Shard::page`], but handles one CTA at a time.
    fn large_page(
        &mut self,
        view: &View,
        untraced: &Untraced,
        scratch: &mut Scratch,
        records: &PageRecords<'_>,
    ) -> Result<()> {
        let (mut touches, mut number, mut has_phases) = (Touches::default(), 0, false);
        records.ctas(|records| {
            number = records[0].page();
            records.iter().for_each(|record| touches.add(record));
            has_phases |= records.iter().any(|record| record.phase() > 0);
            Ok(())
        })?;
        let base = number * PAGE_BYTES as u64;
        let options = self.out.options;
        let details = options.details;
        if details {
            self.touches(number, view.launch, &touches);
        }
        let only = (view.regions).only(base, base.saturating_add(PAGE_BYTES as u64));
        let only_read = if details { only } else { Some(None) };
        let mark = self.out.details.mark(&self.out.sums);
        let unwritten = self.out.sums.unwritten();
        let is_written = touches.writes();
        let (before, never) = if !is_written && !self.pages.contains_key(&number) {
            let parts = parts_of(untraced, base);
            records.ctas(|records| {
                never_read(view, &parts, records, only_read.is_none(), &mut self.out);
                Ok(())
            })?;
            (0, but_for(&parts))
        } else {
            let known = self.pages.get(&number).map_or(0, |page| page.bytes());
            let page = (self.pages.entry(number))
                .or_insert_with(|| fresh_page(untraced, base, &[], options));
            if is_written {
                records.ctas(|records| {
                    scratch.writers.add(records, has_phases);
                    Ok(())
                })?;
                scratch.writers.carry_on();
            }
            records.ctas(|records| {
                scratch.read(view, page, base, (records, only_read), &mut self.out);
                view.kept.take_many(&mut self.out)
            })?;
            scratch.writers.clear();
            (known, never_in(page))
        };
        if details && self.out.sums.unwritten() > unwritten {
            let mut is_stored = false;
            records.ctas(|records| {
                is_stored |= scratch.search.stores(view, records);
                Ok(())
            })?;
            records.ctas(|records| {
                scratch.search.cta(view, records, &never, is_stored);
                Ok(())
            })?;
            (scratch.search).end(is_stored, &mut self.out.details.unwritten);
        }
        if details {
            if let Some(allocation) = only {
                (self.out.details).in_array(allocation, view.kernel, &mark, &self.out.sums);
            }
            records.ctas(|records| {
                self.stores(view, records, only);
                Ok(())
            })?;
        }
        if is_written && let Some(page) = self.pages.get_mut(&number) {
            let mut plain = Bitmap::new();
            records.ctas(|records| {
                for record in records.iter().filter(|record| record.writes()) {
                    write(view, page, record);
                    if !record.reads() {
                        plain.insert(record.offset(), record.extent(), |_, _| {});
                    }
                }
                Ok(())
            })?;
            self.out.several_writers(view.launch, page, &plain);
        }
        if let Some(page) = self.pages.get(&number) {
            self.bytes = (self.bytes + page.bytes()).saturating_sub(before);
        }
        Ok(())
    }
}

fn ordered(view: &View, of: &Records<'_>) -> Result<Sorted<Ordered>> {
    let bytes = of.most * size_of::<Ordered>();
    let folder = Arc::new(of.folder.another());
    let sorter = Sorter::new("records", bytes, folder, view.cancellation);
    let mut number = 0;
    for block in of.blocks {
        Gathered::parts(block, of, |records| {
            for part in records.chunks(1 << 12) {
                let items = part.iter().zip(number..);
                sorter.append(
                    items
                        .map(|(&record, number)| Ordered { record, number })
                        .collect(),
                )?;
                number += part.len() as u64;
            }
            Ok(())
        })?;
    }
    sorter.finish()
}
