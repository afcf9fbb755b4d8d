//! The records of one chunk, those of each shard side by side, in memory or on disk.

use super::record::{Record, WideAccesses, cut, starts};
use super::shadow::Tag;
use super::spill::SpillFile;
use crate::counts::{Counts, GroupSource};
use crate::error::{AnalysisError, Result};
use crate::sites::SiteOps;
use std::sync::Mutex;

/// Number of shards: many more than cores, so that uneven shards even out and one shard's part of a launch is small; a power
/// of two.
pub(crate) const SHARDS: usize = 256;

/// Parts of a shard that its records are spread over before they are ordered by page; a power of two.
const BUCKETS: usize = 256;

const SHARD_BITS: u32 = SHARDS.trailing_zeros();
const BUCKET_BITS: u32 = BUCKETS.trailing_zeros();

/// A page's number in an order in which neighbours are far apart: the highest bits are the shard, the next ones the bucket.
#[inline]
fn spread(page: u64) -> u64 {
    page.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Shard of page `number`.
#[inline]
pub(crate) fn shard_of(number: u64) -> usize {
    (spread(number) >> (64 - SHARD_BITS)) as usize
}

#[inline]
fn bucket_of(number: u64) -> usize {
    (spread(number) >> (64 - SHARD_BITS - BUCKET_BITS)) as usize % BUCKETS
}

const _: () = assert!(SHARDS.is_power_of_two() && BUCKETS.is_power_of_two());

/// Things that threads take and give back, so that their memory is used again.
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Lends a thing to `work`; makes one with `new` where none is free.
    pub(crate) fn with<R>(&self, new: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let lock = || match self.0.lock() {
            Ok(things) => things,
            Err(poisoned) => poisoned.into_inner(),
        };
        let taken = lock().pop();
        let mut thing = taken.unwrap_or_else(new);
        let result = work(&mut thing);
        lock().push(thing);
        result
    }
}

enum Data {
    Memory(Vec<Record>),
    /// Position in the spill file.
    Disk(u64),
}

/// See above.
pub(crate) struct Block {
    data: Data,
    /// By shard: where its records end.
    ends: Vec<u32>,
}

impl Block {
    fn range(&self, shard: usize) -> std::ops::Range<usize> {
        let start = shard.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[shard] as usize
    }

    /// Number of records of a shard.
    pub(crate) fn count(&self, shard: usize) -> usize {
        self.range(shard).len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        match &self.data {
            Data::Memory(records) => records.len() * size_of::<Record>(),
            Data::Disk(_) => 0,
        }
    }

    /// Moves the records to `file`.
    pub(crate) fn spill(&mut self, file: &mut SpillFile) -> Result<()> {
        if let Data::Memory(records) = &self.data {
            self.data = Data::Disk(file.append(records)?);
        }
        Ok(())
    }
}

/// Reads a chunk and cuts its groups, or with `exact` takes the first bytes of their accesses; `flat` is scratch memory.
pub(crate) fn collect(
    source: &impl GroupSource,
    chunk: usize,
    ops: &SiteOps,
    exact: bool,
    wide: &WideAccesses,
    flat: &mut Vec<Record>,
) -> Result<(Counts, Block)> {
    flat.clear();
    let mut counts = Counts::default();
    let mut ends = vec![0u32; SHARDS];
    source.read(chunk, &mut |group| {
        let op = ops.op(group.site)?;
        if group.cta == Tag::SEVERAL_CTAS {
            return Err(AnalysisError::TooLarge {
                what: "a CTA number",
                value: u64::from(group.cta),
                limit: u64::from(Tag::SEVERAL_CTAS) - 1,
            });
        }
        counts.group(group, op);
        let sink = |record: Record| {
            ends[shard_of(record.page())] += 1;
            flat.push(record);
        };
        if exact {
            starts(group, op, sink);
        } else {
            cut(group, op, wide, sink);
        }
        Ok(())
    })?;
    let mut records = Vec::new();
    if let Some(&any) = flat.first() {
        records = vec![any; flat.len()];
        let mut next = sums(&mut ends);
        for record in flat.iter() {
            let at = &mut next[shard_of(record.page())];
            records[*at as usize] = *record;
            *at += 1;
        }
    }
    let data = Data::Memory(records);
    Ok((counts, Block { data, ends }))
}

/// Turns counts into ends, and returns the starts.
fn sums(counts: &mut [u32]) -> Vec<u32> {
    let mut sum = 0;
    (counts.iter_mut())
        .map(|count| {
            let start = sum;
            sum += *count;
            *count = sum;
            start
        })
        .collect()
}

/// The records of one shard in one launch, ordered by page.
#[derive(Default)]
pub(crate) struct Gathered {
    records: Vec<Record>,
    loaded: Vec<Record>,
}

impl Gathered {
    /// Takes a shard's records out of `blocks` and hands those of each page to `sink`, in the order of the blocks.
    pub(crate) fn pages(
        &mut self,
        blocks: &[Block],
        shard: usize,
        file: Option<&SpillFile>,
        mut sink: impl FnMut(&mut [Record]),
    ) -> Result<()> {
        self.loaded.clear();
        for block in blocks {
            let range = block.range(shard);
            if let (Data::Disk(first), Some(file)) = (&block.data, file) {
                file.read(first + range.start as u64, range.len(), &mut self.loaded)?;
            }
        }
        let mut on_disk = 0;
        let parts: Vec<&[Record]> = (blocks.iter())
            .map(|block| {
                let range = block.range(shard);
                match &block.data {
                    Data::Memory(records) => &records[range],
                    Data::Disk(_) => {
                        let start = on_disk;
                        on_disk += range.len();
                        &self.loaded[start..on_disk]
                    }
                }
            })
            .collect();
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let Some(&any) = parts.iter().copied().flatten().next() else {
            return Ok(());
        };
        self.records.clear();
        let mut counts = vec![0u32; BUCKETS];
        if total < BUCKETS {
            counts[0] = total as u32;
            parts
                .iter()
                .for_each(|part| self.records.extend_from_slice(part));
        } else {
            self.records.resize(total, any);
            for record in parts.iter().copied().flatten() {
                counts[bucket_of(record.page())] += 1;
            }
            let mut next = sums(&mut counts);
            for &record in parts.iter().copied().flatten() {
                let at = &mut next[bucket_of(record.page())];
                self.records[*at as usize] = record;
                *at += 1;
            }
        }
        let mut rest = self.records.as_mut_slice();
        let mut start = 0;
        for end in counts {
            if end <= start {
                continue;
            }
            let (bucket, more) = std::mem::take(&mut rest).split_at_mut((end - start) as usize);
            (rest, start) = (more, end);
            // Stable: each page's records stay in the order of the file.
            if !bucket.is_sorted_by_key(Record::page) {
                bucket.sort_by_key(Record::page);
            }
            bucket
                .chunk_by_mut(|a, b| a.page() == b.page())
                .for_each(&mut sink);
        }
        // One large launch should not cost its memory for ever.
        self.records.shrink_to(1 << 16);
        self.loaded.shrink_to(1 << 16);
        Ok(())
    }
}
