//! Analysis on many machines, in three steps with a shuffle after each of the first two.
//!
//! 1. [`Map`] decodes chunks and packs their accesses by bucket of pages.
//! 2. [`reduce`] analyses the pages of one bucket, exactly as a single machine analyses all pages.
//! 3. [`combine`] joins the results of all buckets for the same CTAs: transfers, strides, and accesses across page
//!    boundaries.
//!
//! [`Merged`] sums the rows of the last step. There are only a few rows, and they are large.

mod rows;

pub use rows::{Kind, NextRow, Row, Rows};

use crate::analyse::{Accesses, Analysis, LaunchChunks, walk};
use crate::communication::{
    BLOCK_RECORDS, Block, Cutter, Decoded, Engine, Item, LaunchRecords, MemoryLimit, Options,
    Packet, Record, Run, ShardCounts, Sorter, Span, Sums, Transfer, Transfers, WideAccesses,
    WidePart, add, distances, recycle, span_distances, unpacked,
};
use crate::error::Result;
use crate::sites::SiteOps;
use rows::{items_of, packed, sums_of, sums_row, unexpected};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use superstep_trace::{Capture, ChunkRef, LaunchRecord};

/// Divides the chunks of a capture into tasks of about `accesses` thread accesses, each a range of chunk numbers.
pub fn tasks(capture: &Capture, accesses: u64) -> Vec<Range<u64>> {
    let mut tasks: Vec<Range<u64>> = Vec::new();
    let mut sum = 0;
    let launches = capture.launches();
    for (number, chunk) in (0..).zip(launches.flat_map(|launch| launch.chunks)) {
        match tasks.last_mut() {
            Some(task) if sum < accesses => task.end = number + 1,
            _ => {
                tasks.push(number..number + 1);
                sum = 0;
            }
        }
        sum += chunk.thread_accesses;
    }
    tasks
}

/// The first step: packs the accesses of a range of chunks.
pub struct Map {
    capture: Arc<Capture>,
    ops: SiteOps,
    /// Index of the launch, the chunk, and the chunk's index in the whole capture.
    chunks: std::vec::IntoIter<(u32, ChunkRef, u64)>,
    /// Earlier chunks of the first launch, which belong to other tasks; empty if the capture has no grid barriers.
    skipped: Vec<ChunkRef>,
    cutter: Option<Cutter>,
    sums: Sums,
    sums_bucket: u32,
    ready: VecDeque<Row>,
}

impl Map {
    /// Creates the step; `buckets` must be positive.
    pub fn new(capture: Arc<Capture>, chunks: &Range<u64>, buckets: u32) -> Self {
        let launches = capture.launches();
        let all =
            launches.flat_map(|launch| launch.chunks.iter().map(move |&c| (launch.number, c)));
        let mut skipped: Vec<_> = (0..chunks.end)
            .zip(all)
            .map(|(number, (launch, chunk))| (launch, chunk, number))
            .collect();
        let first = usize::try_from(chunks.start).unwrap_or(usize::MAX);
        let chunks = skipped.split_off(first.min(skipped.len()));
        let has_barriers = capture.modules.iter().any(|module| module.grid_barriers);
        let first_launch = chunks.first().map(|chunk| chunk.0);
        skipped.retain(|chunk| has_barriers && Some(chunk.0) == first_launch);
        Self {
            skipped: skipped.into_iter().map(|(_, chunk, _)| chunk).collect(),
            ops: SiteOps::new(capture.sites()),
            sums_bucket: chunks
                .first()
                .map_or(0, |(.., number)| (number % u64::from(buckets)) as u32),
            chunks: chunks.into_iter(),
            cutter: Some(Cutter::new(buckets)),
            sums: Sums::default(),
            ready: VecDeque::new(),
            capture,
        }
    }

    /// Reads the next chunk; returns false at the end.
    fn step(&mut self) -> Result<bool> {
        let Some(cutter) = &mut self.cutter else {
            return Ok(false);
        };
        let ready = &mut self.ready;
        let mut sink = |packet: Packet| {
            ready.push_back(Row {
                bucket: packet.bucket,
                kind: Kind::Accesses,
                chunk: packet.chunk,
                number: packet.number,
                bytes: packet.bytes,
            });
        };
        if let Some((launch, chunk, number)) = self.chunks.next() {
            let mut source = LaunchChunks {
                capture: &self.capture,
                chunks: &std::mem::take(&mut self.skipped),
                scanner: None,
            };
            cutter.skip(launch, &source)?;
            source.chunks = std::slice::from_ref(&chunk);
            let counts = cutter.chunk((launch, number), &source, &self.ops, &mut sink)?;
            self.sums.launch(launch).counts += counts;
        } else {
            cutter.flush(&mut sink);
            self.sums.found.accessed.extend(cutter.sites.counted());
            self.cutter = None;
            self.ready
                .push_back(sums_row(self.sums_bucket, &self.sums)?);
        }
        Ok(true)
    }
}

impl Iterator for Map {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        while self.ready.is_empty() {
            match self.step() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Runs the second step, which analyses the pages of one bucket; `next` returns the bucket's rows.
pub fn reduce(
    capture: &Capture,
    (bucket, buckets): (u32, u32),
    limit: &MemoryLimit,
    next: NextRow<'_>,
) -> Result<Rows> {
    let options = Options::everything();
    let ops = SiteOps::new(capture.sites());
    let mut engine = Engine::new(ops, options, limit, capture.cancellation);
    let mut pages = BucketAccesses {
        next,
        waiting: VecDeque::new(),
        sums: Sums::default(),
        wide: limit.sorter("wide", capture.cancellation),
    };
    walk(capture, &mut engine, &mut pages)?;
    if pages.next_launch()?.is_some() {
        return Err(unexpected(
            "some accesses are out of order, or belong to launches that the capture does not contain",
        ));
    }
    let BucketAccesses { mut sums, wide, .. } = pages;
    let end = engine.finish_part()?;
    for (position, bytes) in (0..).zip(end.stored).filter(|(_, bytes)| *bytes > 0) {
        sums.launch(position).part.volume.communicated_stored_bytes += bytes;
    }
    sums.found.extend(end.found.into_rows().0);
    sums.written_copies.extend(end.written_copies);
    let sums = sums_row(bucket, &sums)?;
    let rows = packed(Kind::Loads, end.loads, buckets, Span::owner_key)?
        .chain(packed(Kind::Stores, end.stores, buckets, Run::owner_key)?)
        .chain(packed(Kind::Transfers, end.transfers, buckets, |item| {
            u64::from(item.source_launch) << 32 | u64::from(item.source_cta)
        })?)
        .chain(packed(Kind::Wide, wide.finish()?, buckets, |item| {
            u64::from(item.launch) << 32 | u64::from(item.cta)
        })?)
        .chain([Ok(sums)]);
    Ok(Box::new(rows))
}

struct BucketAccesses<'a> {
    next: NextRow<'a>,
    waiting: VecDeque<LaunchRecords>,
    sums: Sums,
    wide: Sorter<WidePart>,
}

impl BucketAccesses<'_> {
    fn next_launch(&mut self) -> Result<Option<u32>> {
        while self.waiting.is_empty() {
            let Some(row) = (self.next)()? else {
                return Ok(None);
            };
            match row.kind {
                Kind::Sums => self.sums.add(sums_of(&row)?),
                Kind::Accesses => self.waiting.extend(unpacked(&row.bytes)?),
                _ => return Err(unexpected("a row belongs to a later step")),
            }
        }
        Ok(self.waiting.front().map(|accesses| accesses.launch))
    }
}

impl<'a> Accesses<'a> for BucketAccesses<'_> {
    fn launch(&mut self, engine: &mut Engine<'a>, record: &LaunchRecord<'a>) -> Result<()> {
        let context = engine.begin(record.launch)?;
        let position = context.position;
        let wide = WideAccesses::default();
        let mut blocks: Vec<Block> = Vec::new();
        let mut records: Vec<Record> = Vec::new();
        while self.next_launch()? == Some(position) {
            let Some(accesses) = self.waiting.pop_front() else {
                break;
            };
            records.extend(accesses.numbered(&wide)?);
            if records.len() >= BLOCK_RECORDS {
                let spare = &engine.decoder.spare;
                blocks.push(Block::new(&mut records, &mut ShardCounts::new(), spare));
                engine.overflow.make_room(&mut blocks, spare)?;
            }
        }
        if !records.is_empty() {
            let spare = &engine.decoder.spare;
            blocks.push(Block::new(&mut records, &mut ShardCounts::new(), spare));
        }
        if !blocks.is_empty() {
            let launches = [(context, Decoded::new(blocks, wide.into_accesses()))];
            let parts = engine.run_shards(&launches)?;
            let [(_, launch)] = launches;
            for (part, sources) in parts {
                self.sums.launch(position).part.add(part);
                let parts = sources.iter().filter_map(|&(cta, number, source)| {
                    let access = launch.wide.get(number as usize)?;
                    let access = (access.address, access.width);
                    Some(WidePart::new(position, cta, access, source))
                });
                self.wide.append(parts.collect())?;
            }
            recycle(launch.blocks, &engine.decoder.spare);
        }
        Ok(())
    }
}

/// Runs the third step, which joins the parts of all buckets for the same CTAs.
pub fn combine(
    capture: &Capture,
    bucket: u32,
    limit: &MemoryLimit,
    next: NextRow<'_>,
) -> Result<Rows> {
    let loads = limit.sorter::<Span>("loads", capture.cancellation);
    let stores = limit.sorter("stores", capture.cancellation);
    let wide = limit.sorter::<WidePart>("wide", capture.cancellation);
    let transfers = limit.sorter::<Transfer>("transfers", capture.cancellation);
    let mut sums = Sums::default();
    while let Some(row) = next()? {
        match row.kind {
            Kind::Sums => sums.add(sums_of(&row)?),
            Kind::Loads => loads.append(items_of(&row)?)?,
            Kind::Stores => stores.append(items_of(&row)?)?,
            Kind::Transfers => transfers.append(items_of(&row)?)?,
            Kind::Wide => wide.append(items_of(&row)?)?,
            Kind::Accesses => return Err(unexpected("a row belongs to an earlier step")),
        }
    }
    span_distances(loads, |launch, counts| {
        add(&mut sums.launch(launch).part.loads, counts);
    })?;
    distances(stores, |launch, counts| {
        add(&mut sums.launch(launch).stores, counts);
    })?;
    // Equal parts from different pages belong to one access, and count as one read.
    let mut parts = Vec::new();
    wide.finish()?.groups(Item::key, |group| {
        let mut group = group.to_vec();
        group.sort_unstable();
        group.dedup();
        for access in group {
            let part = &mut sums.launch(access.launch).part;
            parts.extend(part.wide(access.launch, access.cta, access.source()));
        }
    })?;
    transfers.append(parts)?;
    let sums = sums_row(bucket, &sums)?;
    let rows = packed(Kind::Transfers, transfers.finish()?, 1, |_| 0)?;
    Ok(Box::new(rows.chain([Ok(sums)])))
}

/// Sum of all parts.
pub struct Merged {
    sums: Sums,
    transfers: Sorter<Transfer>,
}

impl Merged {
    pub fn new(capture: &Capture, limit: &MemoryLimit) -> Self {
        Self {
            sums: Sums::default(),
            transfers: limit.sorter("transfers", capture.cancellation),
        }
    }

    /// Adds a row from [`combine`].
    pub fn add(&mut self, row: &Row) -> Result<()> {
        match row.kind {
            Kind::Sums => self.sums.add(sums_of(row)?),
            Kind::Transfers => self.transfers.append(items_of(row)?)?,
            _ => return Err(unexpected("a row belongs to an earlier step")),
        }
        Ok(())
    }

    /// Returns the same analysis as [`crate::analyse`] with [`Options::everything`].
    pub fn finish(mut self, capture: &Capture) -> Result<Analysis> {
        let options = Options::everything();
        let ops = SiteOps::new(capture.sites());
        let limit = MemoryLimit::none();
        let mut engine = Engine::new(ops, options, &limit, capture.cancellation);
        engine.results.found.add_rows(&self.sums.found);
        let walk = walk(capture, &mut engine, &mut self.sums)?;
        if !self.sums.launches.is_empty() {
            return Err(unexpected(
                "some sums belong to launches that the capture does not contain",
            ));
        }
        let mut end = engine.finish()?;
        end.communication.transfers = Transfers::new(self.transfers.finish()?);
        end.written_copies.append(&mut self.sums.written_copies);
        Ok(walk.into_analysis(capture, options, end))
    }
}

/// Launches with known sums, whose accesses are not read again.
impl<'a> Accesses<'a> for Sums {
    fn launch(&mut self, engine: &mut Engine<'a>, record: &LaunchRecord<'a>) -> Result<()> {
        let position = engine.begin(record.launch)?.position;
        let mut sums = self.launches.remove(&position).unwrap_or_default();
        sums.part.add_counts(&sums.counts);
        engine.add_launch(position, sums.part);
        engine.counts[position as usize] = sums.counts;
        engine.results.strides[position as usize].stores = sums.stores;
        Ok(())
    }
}
