//! Reads of a page by many single accesses with different writers, typical of scattered accesses.

use super::reader::{Reader, Seen, mark_read};
use crate::communication::input::record::Record;
use crate::error::Result;

const TOGETHER: usize = 256;

/// Index of the list in [`Reader::singles`] for accesses whose bytes have different writers, or multiple writers in multiple
/// cells.
const OTHERS: usize = 3;

impl Seen {
    /// Resets the turns if not enough numbers are left for `most` more.
    fn make_room_for_turns(&mut self, most: usize) {
        if u32::MAX as usize - self.turn as usize <= most {
            self.turns.fill(0);
            self.turn = 0;
        }
    }

    /// Marks `cell` in `turn`; returns whether it was unmarked.
    #[inline]
    fn is_new(&mut self, cell: usize, turn: u32) -> bool {
        std::mem::replace(&mut self.turns[cell], turn) != turn
    }
}

impl Reader<'_> {
    /// Counts reads by any number of CTAs, ordered by CTA, in a page that the launch does not write. All are single accesses
    /// of `width` bytes ([`crate::communication::input::record::Survey`]), which are equal or do not overlap, so one mark
    /// per access and CTA tells whether its bytes were seen.
    ///
    /// The writers of scattered accesses are unpredictable, so the records are first put into lists by kind of writer, without
    /// a branch, and each list has its own loop.
    pub(crate) fn singles(&mut self, records: &[Record], width: usize) -> Result<()> {
        let shift = self.page.shift;
        let one_cell = width >> shift == 1;
        self.seen.make_room_for_turns(records.len());
        let (mut cta, mut cta_of_others) = (self.cta, self.cta);
        let mut turn = self.seen.turn + 1;
        for records in records.chunks(TOGETHER) {
            let mut lists = [[0u8; TOGETHER]; 4];
            let mut lens = [0usize; 4];
            let mut turns = [0u32; TOGETHER];
            for (index, record) in records.iter().enumerate() {
                turn += u32::from(record.cta != cta);
                cta = record.cta;
                turns[index] = turn;
                let tag = self.page.tag(record.offset());
                let by_one = one_cell || self.page.only_tag(record.offset(), width).is_some();
                let list = if by_one { tag.kind(one_cell) } else { OTHERS };
                lists[list][lens[list] % TOGETHER] = index as u8;
                lens[list] += 1;
            }
            let of = |list: usize| lists[list][..lens[list]].iter().map(|&i| usize::from(i));
            for record in of(0).map(|index| &records[index]) {
                let volume = (width * record.lanes()) as u64;
                self.out
                    .count_untraced(self.page.tag(record.offset()), volume);
            }
            for index in of(1) {
                self.begin(&records[index]);
                self.single(&records[index], turns[index], width);
            }
            for index in of(2) {
                let record = &records[index];
                let (at, times) = (record.offset(), record.lanes() as u64);
                self.begin(record);
                let is_new = self.seen.is_new(at >> shift, turns[index]);
                self.loads(at, width, width, u64::from(is_new));
                let fresh = if is_new { u8::MAX >> (8 - width) } else { 0 };
                let tag = self.page.tag(at);
                self.several_fresh((at, width), times, (fresh, u64::from(is_new)), tag);
                self.view.kept.take_many(self.out)?;
            }
            for record in of(OTHERS).map(|index| &records[index]) {
                if std::mem::replace(&mut cta_of_others, record.cta) != record.cta {
                    self.seen.clear();
                }
                self.begin(record);
                self.run(record.offset(), width, width, record.lanes() as u64);
            }
        }
        self.seen.turn = turn;
        self.seen.clear();
        Ok(())
    }

    #[inline]
    fn begin(&mut self, record: &Record) {
        self.cta = record.cta;
        self.set_place(record, self.only.flatten());
    }

    /// Counts one access whose bytes all have the same single writer.
    #[inline]
    fn single(&mut self, record: &Record, turn: u32, width: usize) {
        let at = record.offset();
        let (tag, volume) = (self.page.tag(at), (width * record.lanes()) as u64);
        let Some(launch) = tag.launch() else {
            return;
        };
        if self.view.is_self(launch, tag.cta_number(), record.cta) {
            self.out.sums.own += volume;
            return;
        }
        self.communicated(at, width, record.lanes() as u64, tag);
        if self.seen.is_new(at >> self.page.shift, turn) {
            let bits = (u64::MAX >> (64 - width)) << (at % 64);
            mark_read(self.page, self.out, self.base, at / 64, bits, launch, tag);
            self.loads(at, width, width, 1);
            self.out.received(record.cta, tag, width as u64, 1);
        }
    }
}
