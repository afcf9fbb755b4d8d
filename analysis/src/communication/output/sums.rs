//! Results collected by the passes over pages.

use super::detail::{Details, Regions};
use super::loads::Loads;
use super::part::WideSource;
use super::strides::Runs;
use super::volume::{Transfer, Volume};
use crate::communication::engine::Options;
use crate::communication::input::decode::Decoded;
use crate::communication::input::record::{Pattern, Record, WideAccess};
use crate::communication::spill::sorted::order;
use crate::communication::state::bitmap::Bitmap;
use crate::communication::state::cells::Writer;
use crate::communication::state::host::Untraced;
use crate::communication::state::shadow::{Page, Tag};
use crate::communication::state::shards::{LaunchContext, Program};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use superstep_trace::SiteId;

pub(crate) struct View<'a> {
    /// Position of the current launch among all launches.
    pub(crate) launch: u32,
    pub(crate) kernel: u32,
    pub(crate) wide: &'a [WideAccess],
    pub(crate) regions: &'a Regions,
    pub(crate) untraced: &'a Untraced,
    pub(crate) program: Program<'a>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        context: &'a LaunchContext,
        decoded: &'a Decoded,
        program: Program<'a>,
    ) -> Self {
        View {
            launch: context.position,
            kernel: program.kernels[context.position as usize],
            wide: &decoded.wide,
            regions: &context.regions,
            untraced: &context.untraced,
            program,
        }
    }

    #[inline]
    pub(crate) fn is_same_kernel(&self, launch: u32) -> bool {
        self.program.kernels.get(launch as usize) == Some(&self.kernel)
    }

    #[inline]
    pub(crate) fn site_of(&self, record: &Record) -> Option<SiteId> {
        match record.pattern() {
            Pattern::Piece => (self.wide.get(record.origin as usize)).map(|wide| wide.site),
            _ => Some(record.site()),
        }
    }

    /// Returns whether CTA `source` of launch `launch` is the same entity as CTA `cta` of the current launch.
    #[inline]
    pub(crate) fn is_self(&self, launch: u32, source: u32, cta: u32) -> bool {
        source == cta && self.is_same_kernel(launch)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Amount {
    pub(crate) bytes: u64,
    pub(crate) count: u64,
}

crate::add_assign!(Amount: bytes, count);

/// Minimum number of transfers at which a shard merges those between the same CTAs.
const JOIN_AT: usize = 1 << 16;

/// Exclusive upper bound on the CTA indices for which sums by source are kept, 8 bytes each.
const SOURCES: usize = 1 << 20;

/// Amounts that one CTA has received from each CTA of one launch.
#[derive(Default)]
struct BySource {
    /// Receiving CTA, and launch of the sources.
    key: (u32, u32),
    /// Bytes and count, by source.
    amounts: Vec<[u32; 2]>,
    sources: Vec<u32>,
    /// Upper bound on the largest value in `amounts`.
    added: u32,
}

/// Returns all writers except the one with index `own`.
fn others(writers: &[Writer], own: Option<usize>) -> impl Iterator<Item = (usize, &Writer)> {
    (writers.iter().enumerate()).filter(move |&(index, _)| Some(index) != own)
}

#[derive(Default)]
pub(crate) struct ShardOut {
    pub(crate) options: Options,
    /// Bytes of the current launch, except that `communicated_stored_bytes` are those of earlier launches that it was
    /// the first to read.
    pub(crate) sums: Volume,
    /// Bytes received in the current launch, by position of the source launch.
    pub(crate) flows: FxHashMap<u32, Amount>,
    /// Position of the current launch.
    pub(crate) launch: u32,
    /// Transfers that have not been moved to [`super::kept::Kept`] yet.
    pub(crate) transfers: Vec<Transfer>,
    /// Length of `transfers` at which entries for the same CTAs are joined.
    join_at: usize,
    pub(crate) loads: Loads,
    /// Communicating stores of the whole run.
    pub(crate) stores: Runs,
    /// Sources of accesses across a page boundary in the current launch.
    pub(crate) wide: FxHashSet<WideSource>,
    /// Results by instruction and allocation, if requested.
    pub(crate) details: Details,
    /// Stored bytes that another entity has read so far, by position of the storing launch.
    pub(crate) communicated_stored: Vec<u64>,
    /// Bytes from cells with multiple writers, not yet in `transfers`, all for the latest receiver.
    by_source: BySource,
    /// Bytes from the latest source for the latest receiver that are not in `transfers` yet.
    pending: Option<(Tag, u32, Amount)>,
    /// Bytes from the latest source launch that are not in `flows` yet.
    flow: (u32, Amount),
}

impl ShardOut {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            join_at: JOIN_AT,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn count_untraced(&mut self, tag: Tag, bytes: u64) {
        match tag {
            Tag::HOST => self.sums.input_loaded_bytes += bytes,
            Tag::UNKNOWN => self.sums.unknown_loaded_bytes += bytes,
            _ => self.sums.uninitialised_loaded_bytes += bytes,
        }
    }

    #[inline]
    pub(crate) fn received(&mut self, cta: u32, source: Tag, bytes: u64, count: u64) {
        self.sums.received_bytes += bytes;
        if !self.options.transfers {
            if let Some(launch) = source.launch() {
                self.received_from_launch(launch, bytes, count);
            }
            return;
        }
        match &mut self.pending {
            Some((tag, receiver, amount))
                if (*tag, *receiver) == (source, cta) && amount.bytes < 1 << 30 =>
            {
                *amount += Amount { bytes, count };
            }
            _ => {
                self.flush();
                self.pending = Some((source, cta, Amount { bytes, count }));
            }
        }
    }

    /// Records that CTA `cta` received `bytes` and `count` from each of `writers` (CTAs of launch `launch`, in
    /// ascending order), except the one with index `own`.
    ///
    /// If a thousand CTAs add to a histogram that a thousand CTAs read, the resulting transfers outnumber all others, so they
    /// are summed by source before they are sorted.
    pub(crate) fn received_from_multiple(
        &mut self,
        cta: u32,
        launch: u32,
        (writers, own): (&[Writer], Option<usize>),
        (bytes, count): (u32, u32),
    ) {
        let last = writers.last().map_or(0, |writer| writer.cta as usize);
        if last >= SOURCES {
            for (_, writer) in others(writers, own) {
                let source = Tag::cta(launch, writer.cta);
                self.received(cta, source, u64::from(bytes), u64::from(count));
            }
            return;
        }
        let key = (cta, launch);
        if self.by_source.key != key || self.by_source.added > 1 << 30 {
            self.flush_sources();
            self.by_source.key = key;
        }
        let sums = &mut self.by_source;
        // These bytes are in one cell, so there are at most four.
        sums.added += bytes.max(count);
        if sums.amounts.len() <= last {
            sums.amounts.resize(last + 1, [0; 2]);
        }
        let mut sources = 0;
        for (_, writer) in others(writers, own) {
            sources += 1;
            let amount = &mut sums.amounts[writer.cta as usize];
            if *amount == [0; 2] {
                sums.sources.push(writer.cta);
            }
            *amount = [amount[0] + bytes, amount[1] + count];
        }
        self.sums.received_bytes += sources * u64::from(bytes);
        self.received_from_launch(
            launch,
            sources * u64::from(bytes),
            sources * u64::from(count),
        );
    }

    fn flush_sources(&mut self) {
        let (cta, launch) = self.by_source.key;
        let mut sources = std::mem::take(&mut self.by_source.sources);
        for source in sources.drain(..) {
            let amount = &mut self.by_source.amounts[source as usize];
            let [bytes, count] = std::mem::take(amount);
            self.transfer(
                launch,
                source,
                cta,
                Amount {
                    bytes: u64::from(bytes),
                    count: u64::from(count),
                },
            );
        }
        self.by_source.sources = sources;
        self.by_source.added = 0;
    }

    fn transfer(&mut self, source_launch: u32, source_cta: u32, receiver_cta: u32, amount: Amount) {
        self.transfers.push(Transfer {
            source_launch,
            source_cta,
            receiver_launch: self.launch,
            receiver_cta,
            bytes: amount.bytes,
            count: amount.count,
        });
        if self.transfers.len() >= self.join_at {
            let before = self.transfers.len();
            order(&mut self.transfers);
            let after = self.transfers.len();
            self.join_at = if after < before / 2 {
                2 * after
            } else {
                usize::MAX
            };
            self.join_at = self.join_at.max(JOIN_AT);
        }
    }

    pub(crate) fn take_transfers(&mut self) -> Vec<Transfer> {
        self.join_at = JOIN_AT;
        std::mem::take(&mut self.transfers)
    }

    /// Counts bytes that a CTA received from CTAs of one launch, without recording which CTAs sent them.
    #[inline]
    pub(crate) fn received_from_launch(&mut self, launch: u32, bytes: u64, count: u64) {
        if self.flow.0 != launch {
            self.end_flow();
            self.flow.0 = launch;
        }
        self.flow.1 += Amount { bytes, count };
    }

    fn end_flow(&mut self) {
        let amount = std::mem::take(&mut self.flow.1);
        if amount != Amount::default() {
            *self.flows.entry(self.flow.0).or_default() += amount;
        }
    }

    pub(crate) fn flush(&mut self) {
        if let Some((tag, cta, amount)) = self.pending.take()
            && amount != Amount::default()
            && let Some(launch) = tag.launch()
        {
            self.received_from_launch(launch, amount.bytes, amount.count);
            self.transfer(launch, tag.cta_number(), cta, amount);
        }
    }

    /// Counts the bytes of `page` that multiple CTAs wrote in launch `launch`; `plain` contains those that a plain
    /// store wrote.
    pub(crate) fn count_multiple_writers(&mut self, launch: u32, page: &Page, plain: &Bitmap) {
        for (offset, len) in page.written_by_multiple(launch) {
            self.sums.several_writers_bytes += len as u64;
            self.sums.racing_bytes += plain.count(offset, len);
        }
    }

    pub(crate) fn end_launch(&mut self) {
        self.flush();
        self.flush_sources();
        self.end_flow();
    }

    /// Counts `bytes` that `launch` stored and that another entity has now read for the first time.
    #[inline]
    pub(crate) fn stored_by(&mut self, launch: u32, bytes: u64) {
        let launch = launch as usize;
        if self.communicated_stored.len() <= launch {
            self.communicated_stored.resize(launch + 1, 0);
        }
        self.communicated_stored[launch] += bytes;
        self.sums.communicated_stored_bytes += bytes;
    }
}
