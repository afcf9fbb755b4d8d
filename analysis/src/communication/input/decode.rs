//! Reads the accesses of launches and cuts them into records.

use super::block::{BLOCK_RECORDS, Block, ShardCounts, Spare};
use super::phases::Phases;
use super::record::{MAX_SITE, Record, WideAccess, WideAccesses, starts};
use super::repeats::Repeats;
use crate::communication::engine::Options;
use crate::communication::state::shadow::Tag;
use crate::counts::{Counts, GroupSource};
use crate::error::{AnalysisError, Result};
use crate::parallel::{Pool, mapped};
use crate::scan::SiteCount;
use crate::sites::{BySite, SiteOps};
use rayon::prelude::*;
use superstep_trace::{AccessGroup, Op};

/// Returns the operation of `group`; fails if the group cannot be analysed.
#[inline]
pub(crate) fn checked(group: &AccessGroup, ops: &SiteOps) -> Result<Op> {
    if group.cta >= Tag::MULTIPLE {
        return Err(AnalysisError::TooLarge {
            what: "a CTA number",
            value: u64::from(group.cta),
            limit: u64::from(Tag::MULTIPLE) - 1,
        });
    }
    if group.site.0 > MAX_SITE {
        return Err(AnalysisError::TooLarge {
            what: "a site number",
            value: u64::from(group.site.0),
            limit: u64::from(MAX_SITE),
        });
    }
    Ok(ops.op(group.site)?)
}

/// Accesses of one chunk.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) counts: Counts,
    pub(crate) sites: BySite<SiteCount>,
    /// Grid-barrier marks; the records' phases are counted from the start of the chunk.
    pub(crate) phases: Phases,
    pub(crate) blocks: Vec<Block>,
}

/// The accesses of one launch.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) counts: Counts,
    /// Accesses by site, if details are kept.
    pub(crate) sites: Vec<BySite<SiteCount>>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) wide: Vec<WideAccess>,
    phases: Phases,
}

impl Decoded {
    pub(crate) fn new(blocks: Vec<Block>, wide: Vec<WideAccess>) -> Self {
        Self {
            blocks,
            wide,
            ..Self::default()
        }
    }

    /// Adds the launch's next chunk.
    fn add(&mut self, chunk: Collected) {
        self.counts += chunk.counts;
        self.sites.push(chunk.sites);
        let mut blocks = chunk.blocks;
        if !self.phases.is_empty() {
            (blocks.par_iter_mut()).for_each(|block| block.advance(&self.phases));
        }
        self.phases.add(&chunk.phases);
        self.blocks.append(&mut blocks);
    }

    /// Returns the number of records in shard `shard`.
    pub(crate) fn count(&self, shard: usize) -> usize {
        self.blocks.iter().map(|block| block.count(shard)).sum()
    }

    pub(crate) fn records(&self) -> usize {
        self.blocks.iter().map(Block::len).sum()
    }
}

/// Memory for the records of a chunk and for finding repeated accesses.
type Scratch = (Vec<Record>, Repeats);

pub(crate) struct Decoder {
    pub(crate) ops: SiteOps,
    options: Options,
    scratch: Pool<Scratch>,
    pub(crate) spare: Spare,
}

impl Decoder {
    pub(crate) fn new(ops: SiteOps, options: Options) -> Self {
        Self {
            ops,
            options,
            scratch: Pool::new(),
            spare: Spare::new(),
        }
    }

    /// Reads a chunk and cuts its groups into records. If accesses are matched by address, the records cover only the
    /// first byte of each access.
    fn chunk(
        &self,
        source: &dyn GroupSource,
        chunk: usize,
        wide: &WideAccesses,
    ) -> Result<Collected> {
        self.scratch.with(
            || (Vec::new(), Repeats::new()),
            |scratch| self.collect(source, chunk, wide, scratch),
        )
    }

    fn collect(
        &self,
        source: &dyn GroupSource,
        chunk: usize,
        wide: &WideAccesses,
        (flat, repeats): &mut Scratch,
    ) -> Result<Collected> {
        let mut found = Collected::default();
        let exact = self.options.matches_addresses();
        let mut shards = ShardCounts::new();
        flat.clear();
        source.read(chunk, &mut |group| {
            if group.is_grid_barrier() {
                repeats.end_phase(group, (&found.phases, wide));
                found.phases.pass(group);
                return Ok(());
            }
            let op = checked(group, &self.ops)?;
            found.counts.group(group, op);
            if self.options.details {
                found.sites.add(group);
            }
            match exact {
                true => starts(group, op, &found.phases, flat),
                false => repeats.add(group, op, (&found.phases, wide), flat),
            }
            shards.update(flat);
            if flat.len() + repeats.records() >= BLOCK_RECORDS {
                repeats.end((&found.phases, wide), &mut shards, flat);
                (found.blocks).push(Block::new(flat, &mut shards, &self.spare));
            }
            Ok(())
        })?;
        repeats.end((&found.phases, wide), &mut shards, flat);
        if !flat.is_empty() {
            (found.blocks).push(Block::new(flat, &mut shards, &self.spare));
        }
        Ok(found)
    }

    /// Reads all chunks of a batch of launches, on all threads.
    pub(crate) fn launches(&self, sources: &[Box<dyn GroupSource + '_>]) -> Result<Vec<Decoded>> {
        let wide: Vec<WideAccesses> = sources.iter().map(|_| WideAccesses::default()).collect();
        let chunks: Vec<(usize, usize)> = (sources.iter().enumerate())
            .flat_map(|(launch, source)| (0..source.chunks()).map(move |chunk| (launch, chunk)))
            .collect();
        let read = mapped(chunks.len(), |number| {
            let (launch, chunk) = chunks[number];
            self.chunk(&*sources[launch], chunk, &wide[launch])
        });
        let mut launches: Vec<Decoded> = sources.iter().map(|_| Decoded::default()).collect();
        for ((launch, _), chunk) in chunks.iter().zip(read) {
            launches[*launch].add(chunk?);
        }
        for (launch, wide) in launches.iter_mut().zip(wide) {
            launch.wide = wide.into_accesses();
        }
        Ok(launches)
    }

    /// Reads all chunks of a launch, a few at a time. `make_room` may move its blocks to disk after each batch.
    pub(crate) fn in_parts(
        &self,
        source: &dyn GroupSource,
        mut make_room: impl FnMut(&mut Vec<Block>) -> Result<()>,
    ) -> Result<Decoded> {
        let wide = WideAccesses::default();
        let mut launch = Decoded::default();
        let batch = 8 * rayon::current_num_threads();
        for first in (0..source.chunks()).step_by(batch) {
            let count = batch.min(source.chunks() - first);
            for chunk in mapped(count, |at| self.chunk(source, first + at, &wide)) {
                launch.add(chunk?);
            }
            make_room(&mut launch.blocks)?;
        }
        launch.wide = wide.into_accesses();
        Ok(launch)
    }
}
