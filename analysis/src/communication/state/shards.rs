//! All shards. Each analyses one launch after another without waiting for the other shards.

use super::host::Untraced;
use super::shadow::{PAGE_BYTES, page_of};
use super::shard::{Event, Pending, Records, Scratch, Shard};
use crate::communication::engine::Options;
use crate::communication::input::block::{SHARDS, shard_of, shards_per_task};
use crate::communication::input::decode::Decoded;
use crate::communication::output::detail::Regions;
use crate::communication::output::kept::Kept;
use crate::communication::output::part::{LaunchPart, WideSource};
use crate::communication::output::sums::{ShardOut, View};
use crate::communication::spill::file::{SpillFile, SpillFolder};
use crate::communication::spill::limit::Budget;
use crate::error::Result;
use crate::parallel::Pool;
use crate::sites::SiteOps;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use superstep_trace::Cancellation;

/// Number of pending events at which a shard applies them even if no launch accesses its pages.
const MAX_PENDING_EVENTS: usize = 256;

pub(crate) struct Shards {
    shards: Vec<Shard>,
    scratch: Pool<Scratch>,
    budget: Budget,
    folder: Arc<SpillFolder>,
}

/// A launch, with the state of memory set up by the host's calls before it.
pub(crate) struct LaunchContext {
    /// Position among all launches.
    pub(crate) position: u32,
    pub(crate) untraced: Arc<Untraced>,
    pub(crate) regions: Arc<Regions>,
}

/// State that all launches share.
#[derive(Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) ops: &'a SiteOps,
    /// Kernel of each launch.
    pub(crate) kernels: &'a [u32],
    /// Receives results that exceed a shard's budget.
    pub(crate) kept: &'a Kept,
    pub(crate) cancellation: Cancellation,
}

/// Sums of a launch and, separately, the sources of accesses across page boundaries.
pub(crate) type LaunchResult = (LaunchPart, Vec<WideSource>);

impl Shards {
    pub(crate) fn new(options: Options, budget: Budget, folder: Arc<SpillFolder>) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::new(options)).collect(),
            scratch: Pool::new(),
            budget,
            folder,
        }
    }

    /// Adds an event for `start..end`, which must not be empty, before the launch at position `next_launch`. `is_idle`
    /// means that all earlier launches have been analysed.
    pub(crate) fn add(
        &mut self,
        (start, end): (u64, u64),
        event: &Event,
        next_launch: u32,
        is_idle: bool,
    ) {
        let add = |shard: &mut Shard, start, end| {
            // A page that is created later gets its writers from `Untraced`.
            if is_idle && shard.pages() == 0 {
                return;
            }
            let event = event.clone();
            shard.pending.push(Pending {
                next_launch,
                start,
                end,
                event,
            });
            if is_idle {
                shard.catch_up(next_launch);
            }
        };
        let numbers = page_of(start)..=page_of(end - 1);
        if numbers.end() - numbers.start() >= SHARDS as u64 {
            let shards = self.shards.iter_mut();
            shards.for_each(|shard| add(shard, start, end));
            return;
        }
        for number in numbers {
            let base = number * PAGE_BYTES as u64;
            let end = end.min(base.saturating_add(PAGE_BYTES as u64));
            add(&mut self.shards[shard_of(number)], start.max(base), end);
        }
    }

    /// Analyses `launches` and returns their sums. All earlier launches must have been analysed.
    pub(crate) fn launches(
        &mut self,
        launches: &[(LaunchContext, Decoded)],
        program: Program<'_>,
        file: Option<&SpillFile>,
    ) -> Result<Vec<LaunchResult>> {
        let views: Vec<View> = launches
            .iter()
            .map(|(context, decoded)| View::new(context, decoded, program))
            .collect();
        let sums: Vec<Mutex<LaunchResult>> = launches.iter().map(|_| Mutex::default()).collect();
        let has_records = |number: usize, launch: &Decoded| launch.count(number) > 0;
        let records = launches.iter().map(|(_, launch)| launch.records()).sum();
        let next_launch = launches.last().map_or(0, |(last, _)| last.position + 1);
        let (budget, folder) = (self.budget, &*self.folder);
        let pages_bytes = AtomicUsize::new(self.shards.iter().map(|shard| shard.bytes).sum());
        let extra_records = AtomicUsize::new(budget.extra_records);
        // Shards wait for the next round if other threads hold the memory that they need beyond a thread's share.
        let is_waiting: Vec<AtomicBool> = (0..SHARDS).map(|_| AtomicBool::new(true)).collect();
        while is_waiting.iter().any(|it| it.load(Ordering::Relaxed)) {
            (self.shards.par_iter_mut().enumerate())
                .with_min_len(shards_per_task(records))
                .filter(|(number, shard)| {
                    is_waiting[*number].swap(false, Ordering::Relaxed)
                        && (shard.pending.len() >= MAX_PENDING_EVENTS
                            || launches.iter().any(|(_, it)| has_records(*number, it)))
                })
                .try_for_each(|(number, shard)| {
                    let counts = launches.iter().map(|(_, launch)| launch.count(number));
                    let needed = counts.max().unwrap_or(0);
                    let is_extra =
                        (budget.shard_records + 1..=budget.extra_records).contains(&needed);
                    let extra = if is_extra { needed } else { 0 };
                    let take = |left: usize| left.checked_sub(extra);
                    if (extra_records.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take))
                        .is_err()
                    {
                        is_waiting[number].store(true, Ordering::Relaxed);
                        return Ok(());
                    }
                    let name = format!("pages-{number}");
                    let bytes_before = shard.bytes;
                    shard.swap_in(folder, &name)?;
                    self.scratch.with(Scratch::new, |scratch| -> Result<()> {
                        let launches = launches.iter().zip(&views).zip(&sums);
                        for (((context, launch), view), sum) in
                            launches.filter(|(((_, launch), _), _)| has_records(number, launch))
                        {
                            shard.catch_up(context.position);
                            let records = Records {
                                blocks: &launch.blocks,
                                shard: number,
                                file,
                                max_records: budget.shard_records.max(extra),
                                folder,
                            };
                            shard.launch(view, scratch, &records)?;
                            let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                            sum.0.add_shard(&mut shard.out);
                            sum.1.extend(shard.out.wide.drain());
                        }
                        Ok(())
                    })?;
                    extra_records.fetch_add(extra, Ordering::Relaxed);
                    shard.catch_up(next_launch);
                    let bytes_after = shard.bytes;
                    pages_bytes.fetch_add(bytes_after, Ordering::Relaxed);
                    let all = pages_bytes.fetch_sub(bytes_before, Ordering::Relaxed) - bytes_before;
                    if all > budget.page_bytes {
                        shard.swap_out(folder, &name)?;
                        pages_bytes.fetch_sub(bytes_after, Ordering::Relaxed);
                    }
                    program.kept.take_after_launch(&mut shard.out)
                })?;
        }
        let sums = sums.into_iter();
        Ok(sums
            .map(|sum| sum.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect())
    }

    /// Removes the shards and returns each shard's results for the whole run.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Result<ShardOut>> {
        let folder = &self.folder;
        (self.shards.drain(..).enumerate()).map(move |(number, mut shard)| {
            if shard.has_pending_queries() {
                shard.swap_in(folder, &format!("pages-{number}"))?;
            }
            shard.catch_up(u32::MAX);
            Ok(shard.out)
        })
    }
}
