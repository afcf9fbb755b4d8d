//! Reads of a page that consist of many single accesses with different writers, as in programs with scattered accesses.

use super::reader::{Reader, Seen, mark_read};
use super::shadow::Tag;
use super::unwritten::Search;
use crate::communication::input::record::Record;
use crate::error::Result;

const BATCH_RECORDS: usize = 256;

/// Index of the list in [`Reader::singles`] for accesses to cells with different writers, or to more than one cell with
/// multiple writers.
const OTHERS: usize = 3;

impl Seen {
    /// Resets the generations if too few numbers are left for `count` more.
    fn make_room_for_generations(&mut self, count: usize) {
        if u32::MAX as usize - self.generation as usize <= count {
            self.generations.fill(0);
            self.generation = 0;
        }
    }

    /// Marks `cell` in `generation`; returns whether it was unmarked.
    #[inline]
    fn is_new(&mut self, cell: usize, generation: u32) -> bool {
        std::mem::replace(&mut self.generations[cell], generation) != generation
    }
}

impl Reader<'_> {
    /// Counts reads by any number of CTAs, ordered by CTA, in a page that the launch does not write. All are single
    /// accesses of `width` bytes ([`crate::communication::input::record::Survey`]) that are equal or do not overlap, so
    /// one mark per access and CTA is enough to tell whether its bytes have been seen.
    ///
    /// Reads of unwritten bytes are added to `search`.
    ///
    /// Since the writers of scattered accesses are unpredictable, the records are first distributed, without branches,
    /// to lists by kind of writer. Each list then has its own loop.
    pub(crate) fn singles(
        &mut self,
        records: &[Record],
        width: usize,
        search: &mut Search,
    ) -> Result<()> {
        let shift = self.page.shift;
        let one_cell = width >> shift == 1;
        self.seen.make_room_for_generations(records.len());
        let (mut cta, mut cta_of_others) = (self.cta, self.cta);
        let mut generation = self.seen.generation + 1;
        for records in records.chunks(BATCH_RECORDS) {
            self.out.loads.end_ctas(records[0].cta);
            let mut lists = [[0u8; BATCH_RECORDS]; 4];
            let mut lens = [0usize; 4];
            let mut generations = [0u32; BATCH_RECORDS];
            let mut tags = [Tag::UNWRITTEN; BATCH_RECORDS];
            self.page
                .tags(records.iter().map(Record::offset), &mut tags);
            for (index, record) in records.iter().enumerate() {
                generation += u32::from(record.cta != cta);
                cta = record.cta;
                generations[index] = generation;
                let tag = tags[index];
                let uniform = one_cell || self.page.common_tag(record.offset(), width).is_some();
                let list = if uniform { tag.kind(one_cell) } else { OTHERS };
                lists[list][lens[list] % BATCH_RECORDS] = index as u8;
                lens[list] += 1;
            }
            let indices = |list: usize| lists[list][..lens[list]].iter().map(|&i| usize::from(i));
            for index in indices(0) {
                let record = &records[index];
                let (at, times) = (record.offset(), record.accesses());
                self.out.count_untraced(tags[index], width as u64 * times);
                if tags[index] == Tag::UNWRITTEN && self.out.options.details {
                    self.begin(record);
                    if let Some((site, Some(allocation))) = self.place {
                        search.add((site, allocation), (at, width), times);
                    }
                }
            }
            let mut own = 0;
            for index in indices(1) {
                let (record, tag) = (&records[index], tags[index]);
                let source = tag.launch().unwrap_or_default();
                if self.view.is_self(source, tag.cta_number(), record.cta) {
                    own += width as u64 * record.accesses();
                    continue;
                }
                self.begin(record);
                self.single(record, tag, generations[index], width);
            }
            self.out.sums.self_loaded_bytes += own;
            for index in indices(2) {
                let record = &records[index];
                let (at, times) = (record.offset(), record.accesses());
                self.begin(record);
                let is_new = self.seen.is_new(at >> shift, generations[index]);
                self.loads(at, width, width, u64::from(is_new));
                let fresh = if is_new { u8::MAX >> (8 - width) } else { 0 };
                let fresh = (fresh, u64::from(is_new));
                self.read_fresh_from_multiple((at, width), times, fresh, tags[index]);
                self.view.program.kept.take_if_full(self.out)?;
            }
            for record in indices(OTHERS).map(|index| &records[index]) {
                if std::mem::replace(&mut cta_of_others, record.cta) != record.cta {
                    self.seen.clear();
                }
                self.begin(record);
                self.run(record.offset(), width, width, record.accesses());
            }
        }
        self.out.loads.end_ctas(cta + 1);
        self.seen.generation = generation;
        self.seen.clear();
        Ok(())
    }

    #[inline]
    fn begin(&mut self, record: &Record) {
        self.cta = record.cta;
        self.set_place(record);
    }

    /// Counts one access to bytes whose only writer is `tag`, another entity.
    #[inline(always)]
    fn single(&mut self, record: &Record, tag: Tag, generation: u32, width: usize) {
        let (at, launch) = (record.offset(), tag.launch().unwrap_or_default());
        self.communicated(at, width, record.accesses(), tag);
        if self.seen.is_new(at >> self.page.shift, generation) {
            let bits = (u64::MAX >> (64 - width)) << (at % 64);
            mark_read(self.page, self.out, self.base, at / 64, bits, launch, tag);
            self.loads(at, width, width, 1);
            self.out.received(record.cta, tag, width as u64, 1);
        }
    }
}
