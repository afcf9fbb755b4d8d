//! Records of one chunk, grouped by shard, in memory or on disk.

use super::phases::Phases;
use super::record::{Record, Survey};
use crate::communication::spill::file::{Piece, SpillFile, SpillFolder, pack};
use crate::communication::state::shard::Records;
use crate::error::Result;
use crate::parallel::{Pool, mapped};
use std::sync::Arc;

/// Number of shards, a power of two: many more than cores, to balance uneven shards and keep each shard's part of a
/// launch small.
pub(crate) const SHARDS: usize = 512;

/// Maximum number of buckets into which a shard's records are split before they are sorted by page; a power of two.
const BUCKETS: usize = 1 << 12;

/// Average number of records in a bucket.
const BUCKET_RECORDS: usize = 64;

const SHARD_BITS: u32 = SHARDS.trailing_zeros();
const BUCKET_BITS: u32 = BUCKETS.trailing_zeros();

/// Permutes page numbers to separate neighbours. The highest bits select the shard, the next ones the bucket.
#[inline]
pub(crate) fn spread(page: u64) -> u64 {
    page.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[inline]
pub(crate) fn shard_of(number: u64) -> usize {
    (spread(number) >> (64 - SHARD_BITS)) as usize
}

#[inline]
fn bucket_of(number: u64) -> usize {
    (spread(number) >> (64 - SHARD_BITS - BUCKET_BITS)) as usize % BUCKETS
}

const _: () = assert!(SHARDS.is_power_of_two() && BUCKETS.is_power_of_two());

pub(crate) enum Block {
    /// Records in memory, and the end of each shard's records.
    Memory(Vec<Record>, Vec<u32>),
    /// Pieces on disk, of about [`BLOCK_RECORDS`] records each, by shard.
    Disk(Vec<Vec<Piece>>),
}

pub(crate) type Spare = Pool<Vec<Record>>;

/// Keeps the memory of `blocks` for reuse, in place of any memory that was kept before.
pub(crate) fn recycle(blocks: impl IntoIterator<Item = Block>, spare: &Spare) {
    let mut spare = spare.objects();
    spare.clear();
    for block in blocks {
        if let Block::Memory(records, _) = block {
            spare.push(records);
        }
    }
}

/// Number of records in each shard, counted while the records are still in the cache.
pub(crate) struct ShardCounts {
    counts: Vec<u32>,
    counted: usize,
}

impl ShardCounts {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; SHARDS],
            counted: 0,
        }
    }

    /// Counts the records that have been added to `records`.
    #[inline]
    pub(crate) fn update(&mut self, records: &[Record]) {
        for record in &records[self.counted..] {
            self.counts[shard_of(record.page())] += 1;
        }
        self.counted = records.len();
    }
}

impl Block {
    /// Moves all records into a block; `flat` contains them in the order of the capture.
    pub(crate) fn new(flat: &mut Vec<Record>, counts: &mut ShardCounts, spare: &Spare) -> Self {
        counts.update(flat);
        let mut ends = std::mem::replace(counts, ShardCounts::new()).counts;
        let used = spare.objects().pop();
        let fits = |used: &Vec<Record>| (flat.len()..=2 * flat.len()).contains(&used.capacity());
        let mut records = used
            .filter(fits)
            .unwrap_or_else(|| Vec::with_capacity(flat.len().next_multiple_of(CAPACITY_STEP)));
        records.resize(flat.len(), Record::default());
        let mut next = sums(&mut ends);
        for record in flat.iter() {
            let at = &mut next[shard_of(record.page())];
            prefetch(records.get(*at as usize + AHEAD));
            records[*at as usize] = *record;
            *at += 1;
        }
        flat.clear();
        Self::Memory(records, ends)
    }

    /// Advances the phases of an in-memory block by the grid barriers before it.
    pub(crate) fn advance(&mut self, earlier: &Phases) {
        if let Self::Memory(records, _) = self {
            let records = records.iter_mut();
            records.for_each(|record| earlier.advance(record));
        }
    }

    fn records(&self, shard: usize) -> &[Record] {
        let Self::Memory(records, ends) = self else {
            return &[];
        };
        let start = shard.checked_sub(1).map_or(0, |previous| ends[previous]);
        &records[start as usize..ends[shard] as usize]
    }

    pub(crate) fn count(&self, shard: usize) -> usize {
        match self {
            Self::Memory(..) => self.records(shard).len(),
            Self::Disk(pieces) => pieces[shard].iter().map(|piece| piece.items).sum(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Memory(records, _) => records.len(),
            Self::Disk(pieces) => pieces.iter().flatten().map(|piece| piece.items).sum(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Memory(records, _) => records.len() * size_of::<Record>(),
            Self::Disk(_) => 0,
        }
    }
}

/// Minimum number of records that justifies a separate task.
const TASK_RECORDS: usize = 1024;

/// Returns the number of shards per task, chosen so that a small number of `records` does not occupy all threads.
pub(crate) fn shards_per_task(records: usize) -> usize {
    SHARDS / (records / TASK_RECORDS).clamp(1, SHARDS)
}

/// Records of a large launch that do not fit in memory.
pub(crate) struct Overflow {
    /// Maximum size of the records in memory.
    bytes: usize,
    folder: Arc<SpillFolder>,
    pub(crate) file: Option<SpillFile>,
}

impl Overflow {
    pub(crate) fn new(bytes: usize, folder: Arc<SpillFolder>) -> Self {
        Self {
            bytes,
            folder,
            file: None,
        }
    }

    /// Moves `blocks` to disk if they exceed the limit.
    pub(crate) fn make_room(&mut self, blocks: &mut Vec<Block>, spare: &Spare) -> Result<()> {
        let bytes: usize = blocks.iter().map(Block::bytes).sum();
        if bytes <= self.bytes {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillFile::create(&self.folder, "records")?),
        };
        spill(blocks, file, spare)
    }

    /// Frees the disk space that the records occupy.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), SpillFile::clear)
    }
}

/// Moves the in-memory blocks, which come last, to `file` and merges them, since records in one shard are similar
/// and compress well.
fn spill(blocks: &mut Vec<Block>, file: &mut SpillFile, spare: &Spare) -> Result<()> {
    let on_disk = (blocks.iter())
        .take_while(|block| matches!(block, Block::Disk(_)))
        .count();
    let moved = blocks.split_off(on_disk);
    // Bounds the size of a piece even if nearly all records are in one shard.
    let mut parts: Vec<(usize, Vec<&[Record]>)> = Vec::new();
    for shard in 0..SHARDS {
        let mut records = BLOCK_RECORDS;
        for part in moved.iter().map(|block| block.records(shard)) {
            match parts.last_mut() {
                Some((_, piece)) if records < BLOCK_RECORDS => piece.push(part),
                _ if part.is_empty() => continue,
                _ => {
                    parts.push((shard, vec![part]));
                    records = 0;
                }
            }
            records += part.len();
        }
    }
    let mut pieces = vec![Vec::new(); SHARDS];
    for parts in parts.chunks(4 * rayon::current_num_threads()) {
        let packed = mapped(parts.len(), |number| pack(&parts[number].1));
        for ((shard, parts), bytes) in parts.iter().zip(packed) {
            let records = parts.iter().map(|part| part.len()).sum();
            pieces[*shard].push(file.append(&bytes, records)?);
        }
    }
    drop(parts);
    recycle(moved, spare);
    blocks.push(Block::Disk(pieces));
    Ok(())
}

/// Number of records at which a block ends, chosen so that a block fits into a core's cache.
pub(crate) const BLOCK_RECORDS: usize = 1 << 16;

/// Step of the capacity of a block in memory, in records: some are spare, so that a slightly larger block can reuse it.
const CAPACITY_STEP: usize = BLOCK_RECORDS / 16;

/// Distance, in records, between a prefetch and the corresponding store.
const AHEAD: usize = 6;

/// Prefetches the memory of `record`, since the hardware does not predict scattered accesses.
#[inline]
fn prefetch(record: Option<&Record>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(record) = record {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads and writes nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(record).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = record;
}

/// Replaces counts with the ends of their ranges and returns the starts.
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
    /// Passes a shard's records in one block to `sink`, piece by piece.
    pub(crate) fn pieces(
        block: &Block,
        records: &Records<'_>,
        mut sink: impl FnMut(&[Record]) -> Result<()>,
    ) -> Result<()> {
        let (Block::Disk(pieces), Some(file)) = (block, records.file) else {
            return sink(block.records(records.shard));
        };
        let mut loaded = Vec::new();
        for piece in &pieces[records.shard] {
            loaded.clear();
            file.read(*piece, &mut loaded)?;
            sink(&loaded)?;
        }
        Ok(())
    }

    pub(crate) fn pages(
        &mut self,
        &Records {
            blocks,
            shard,
            file,
            ..
        }: &Records<'_>,
        mut sink: impl FnMut(&mut [Record], &Survey) -> Result<()>,
    ) -> Result<()> {
        self.loaded.clear();
        for block in blocks {
            if let (Block::Disk(pieces), Some(file)) = (block, file) {
                for piece in &pieces[shard] {
                    file.read(*piece, &mut self.loaded)?;
                }
            }
        }
        // Blocks on disk precede those in memory.
        let parts: Vec<&[Record]> = std::iter::once(self.loaded.as_slice())
            .chain(blocks.iter().map(|block| block.records(shard)))
            .collect();
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let Some(&any) = parts.iter().copied().flatten().next() else {
            return Ok(());
        };
        if self.records.len() < total {
            self.records.resize(total, any);
        }
        let buckets = (total / BUCKET_RECORDS).next_power_of_two().min(BUCKETS);
        let mask = buckets - 1;
        let mut counts = vec![0u32; buckets];
        for (index, part) in parts.iter().enumerate() {
            let next = parts.get(index + 1).copied().unwrap_or_default();
            for (at, record) in part.iter().enumerate() {
                prefetch(next.get(at));
                counts[bucket_of(record.page()) & mask] += 1;
            }
        }
        let mut next = sums(&mut counts);
        for part in &parts {
            for &record in *part {
                let at = &mut next[bucket_of(record.page()) & mask];
                self.records[*at as usize] = record;
                *at += 1;
            }
        }
        let mut rest = &mut self.records[..total];
        let mut start = 0;
        for end in counts {
            if end <= start {
                continue;
            }
            let (bucket, more) = std::mem::take(&mut rest).split_at_mut((end - start) as usize);
            (rest, start) = (more, end);
            let survey = Survey::new(bucket);
            if survey.one_page {
                sink(bucket, &survey)?;
                continue;
            }
            // A stable sort keeps each page's records in file order.
            if !bucket.is_sorted_by_key(Record::page) {
                bucket.sort_by_key(Record::page);
            }
            for page in bucket.chunk_by_mut(|a, b| a.page() == b.page()) {
                let survey = Survey::new(page);
                sink(page, &survey)?;
            }
        }
        // Limits the memory that stays allocated after a large launch.
        self.records.truncate(1 << 16);
        self.records.shrink_to(1 << 16);
        self.loaded.shrink_to(1 << 16);
        Ok(())
    }
}
