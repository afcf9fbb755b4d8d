//! Launches whose accesses are concentrated in a few pages and do not fit in memory. Their records are sorted on disk
//! by page and CTA. The records of a large page are read again for each pass, one CTA at a time.

use super::bitmap::Bitmap;
use super::shadow::PAGE_BYTES;
use super::shard::{Records, Scratch, Shard, count_untraced_reads, fresh_page, parts_of, write};
use super::unwritten::{written_by_untraced, written_in};
use crate::communication::input::block::Gathered;
use crate::communication::input::record::{Record, Survey, shift_of};
use crate::communication::output::detail::Touches;
use crate::communication::output::sums::View;
use crate::communication::spill::sorted::{Item, Sorted, Sorter};
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A record with its index among the shard's records in the launch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoBytes, FromBytes, Immutable,
)]
#[repr(C)]
struct Ordered {
    record: Record,
    number: u64,
}

impl Item for Ordered {
    #[inline]
    fn key(&self) -> u128 {
        // The fields are 52, 31, 11 and 34 bits wide.
        let (page, cta) = (u128::from(self.record.page()), u128::from(self.record.cta));
        let phase = u128::from(self.record.phase());
        page << 76 | cta << 45 | phase << 34 | u128::from(self.number)
    }

    fn join(&mut self, _: &Self) -> bool {
        false
    }
}

/// The records of one page in `sorted`.
struct PageRecords<'a> {
    sorted: &'a Sorted<Ordered>,
    range: Range<u64>,
}

impl PageRecords<'_> {
    fn for_each_cta(&self, mut sink: impl FnMut(&[Record]) -> Result<()>) -> Result<()> {
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
        scratch: &mut Scratch,
        shard_records: &Records<'_>,
    ) -> Result<()> {
        let sorted = ordered(view, shard_records)?;
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
            view.program.cancellation.check()?;
            let is_large = range.end - range.start > shard_records.max_records as u64 / 2;
            let sorted = &sorted;
            let page = PageRecords { sorted, range };
            if is_large {
                self.large_page(view, scratch, &page)?;
            } else {
                let mut records = Vec::new();
                page.for_each_cta(|more| {
                    records.extend_from_slice(more);
                    Ok(())
                })?;
                self.page(view, scratch, &records, &Survey::new(&records))?;
            }
        }
        Ok(())
    }

    /// Like [`Shard::page`], but handles one CTA at a time.
    fn large_page(
        &mut self,
        view: &View,
        scratch: &mut Scratch,
        records: &PageRecords<'_>,
    ) -> Result<()> {
        let (mut touches, mut number) = (Touches::default(), 0);
        let (mut has_phases, mut written_bits) = (false, 0);
        records.for_each_cta(|records| {
            number = records[0].page();
            records.iter().for_each(|record| touches.add(record));
            for record in records {
                has_phases |= record.phase() > 0;
                written_bits |= record.written_bits();
            }
            Ok(())
        })?;
        scratch.set_shift(shift_of(written_bits));
        let base = number * PAGE_BYTES as u64;
        let options = self.out.options;
        let details = options.details;
        if details {
            self.touches(number, view.launch, &touches);
        }
        let sole_allocation =
            (view.regions).sole_allocation(base, base.saturating_add(PAGE_BYTES as u64));
        let read_allocation = if details { sole_allocation } else { Some(None) };
        let before = std::mem::take(&mut self.out.sums);
        let unwritten_before = self.out.sums.unwritten_bytes();
        let is_written = touches.writes();
        let (bytes_before, written) = if !is_written && !self.pages.contains_key(&number) {
            let (parts, is_shared) = (parts_of(view.untraced, base), read_allocation.is_none());
            records.for_each_cta(|records| {
                count_untraced_reads(view, &parts, records, is_shared, &mut self.out);
                Ok(())
            })?;
            (0, written_by_untraced(&parts))
        } else {
            let bytes = self.pages.get(&number).map_or(0, |page| page.bytes());
            let page = (self.pages.entry(number))
                .or_insert_with(|| fresh_page(view.untraced, base, &[], options));
            if is_written {
                records.for_each_cta(|records| {
                    scratch.writers.add(records, has_phases);
                    Ok(())
                })?;
                scratch.writers.carry_forward();
            }
            records.for_each_cta(|records| {
                scratch.read(view, page, base, (records, read_allocation), &mut self.out);
                view.program.kept.take_if_full(&mut self.out)
            })?;
            scratch.writers.clear();
            (bytes, written_in(page))
        };
        if details && self.out.sums.unwritten_bytes() > unwritten_before {
            let mut is_stored = false;
            records.for_each_cta(|records| {
                is_stored |= scratch.search.stores(view, records);
                Ok(())
            })?;
            records.for_each_cta(|records| {
                scratch.search.cta(view, records, &written, is_stored);
                Ok(())
            })?;
            (scratch.search).end(is_stored, &mut self.out.details.unwritten);
        }
        let allocation = sole_allocation.filter(|_| details);
        (self.out.details).attribute(allocation, view.kernel, before, &mut self.out.sums);
        if details {
            records.for_each_cta(|records| {
                self.stores(view, records, sole_allocation);
                Ok(())
            })?;
        }
        if is_written && let Some(page) = self.pages.get_mut(&number) {
            let mut plain = Bitmap::new();
            records.for_each_cta(|records| {
                for record in records.iter().filter(|record| record.writes()) {
                    write(view, page, record);
                    if !record.reads() {
                        plain.insert(record.offset(), record.extent(), |_, _| {});
                    }
                }
                Ok(())
            })?;
            self.out.count_multiple_writers(view.launch, page, &plain);
        }
        if let Some(page) = self.pages.get(&number) {
            self.bytes = (self.bytes + page.bytes()).saturating_sub(bytes_before);
        }
        Ok(())
    }
}

fn ordered(view: &View, shard_records: &Records<'_>) -> Result<Sorted<Ordered>> {
    let bytes = shard_records.max_records * size_of::<Ordered>();
    let folder = Arc::new(shard_records.folder.sibling());
    let sorter = Sorter::new("records", bytes, folder, view.program.cancellation);
    let mut number = 0;
    for block in shard_records.blocks {
        Gathered::pieces(block, shard_records, |records| {
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
