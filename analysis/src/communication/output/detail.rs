//! Communication by instruction and by allocation, and the footprints of launches.

use super::volume::Volume;
use crate::communication::input::record::Record;
use crate::communication::state::bitmap::{WORDS, for_each_word};
use crate::communication::state::unwritten;
use crate::scan::SiteCount;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use superstep_trace::{AllocationId, SiteId};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Bytes that one instruction of a launch loaded from one allocation and that one instruction of an earlier launch had
/// stored, counting every access. Launches are indices into [`super::Communication::launches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteFlow {
    pub receiver_launch: u32,
    pub key: SiteFlowKey,
    pub amount: SiteFlowAmount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteFlowKey {
    pub source_launch: u32,
    /// Last instruction, in code order, that stored the byte in the source launch, in any CTA.
    pub writer: SiteId,
    pub reader: SiteId,
    pub allocation: Option<AllocationId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SiteFlowAmount {
    pub loaded_bytes: u64,
    /// Loaded bytes that a CTA with a different index stored.
    pub other_cta_bytes: u64,
}

crate::add_assign!(SiteFlowAmount: loaded_bytes, other_cta_bytes);

/// Accesses by one kernel's launches to one allocation. An access belongs to the allocation in which it begins; if it
/// crosses a 4096-byte boundary, each part counts separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayVolume {
    pub allocation: Option<AllocationId>,
    /// Index of the kernel in [`super::Communication::kernels`].
    pub kernel: u32,
    /// Volumes without `received_count` and bytes with several writers. `communicated_stored_bytes` are stored bytes that
    /// another entity read for the first time in this kernel.
    pub volume: Volume,
}

/// Bytes that one instruction loaded from one allocation, in all launches of one kernel, and that another CTA stored in
/// the same launch, counting every access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WithinLaunch {
    /// Index of the kernel in [`super::Communication::kernels`].
    pub kernel: u32,
    pub site: SiteId,
    pub allocation: Option<AllocationId>,
    pub loaded_bytes: u64,
}

/// Kernel, instruction, allocation.
type WithinKey = (u32, SiteId, Option<AllocationId>);

/// Distinct bytes that one launch accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub touched_bytes: u64,
    /// Touched bytes that the previous launch also touched.
    pub again_bytes: u64,
    /// Touched bytes that an earlier launch had touched since they were allocated.
    pub known_bytes: u64,
}

crate::add_assign!(Footprint: read_bytes, written_bytes, touched_bytes, again_bytes, known_bytes);

/// The allocation that a whole range belongs to, or `Some(None)` if no allocation overlaps it; `None` if only part of
/// it belongs to an allocation.
pub(crate) type SoleAllocation = Option<Option<AllocationId>>;

/// Accesses that begin in one allocation, or between two.
pub(crate) struct Part {
    pub(crate) allocation: Option<AllocationId>,
    range: Range<u64>,
    pub(crate) records: Vec<Record>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    /// End and allocation of each range, by start address.
    live: BTreeMap<u64, (u64, AllocationId)>,
}

impl Regions {
    pub(crate) fn insert(&mut self, start: u64, end: u64, id: AllocationId) {
        self.remove(start, end);
        if start < end {
            self.live.insert(start, (end, id));
        }
    }

    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        let overlapping: Vec<u64> = (self.live.range(..end).rev())
            .take_while(|&(_, &(until, _))| until > start)
            .map(|(&first, _)| first)
            .collect();
        for first in overlapping {
            self.live.remove(&first);
        }
    }

    /// Returns the start and end of each allocation.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.live.iter().map(|(&start, &(end, _))| (start, end))
    }

    /// Returns the allocation that contains an address, or `None` between allocations, with its range.
    pub(crate) fn range_at(&self, address: u64) -> (Range<u64>, Option<AllocationId>) {
        let previous = self.live.range(..=address).next_back();
        match previous {
            Some((&start, &(end, id))) if address < end => (start..end, Some(id)),
            _ => {
                let start = previous.map_or(0, |(_, &(end, _))| end);
                let next = self.live.range(address..).next();
                (start..next.map_or(u64::MAX, |(&next, _)| next), None)
            }
        }
    }

    /// Splits `records`, all in one page, by the allocations in which their accesses begin.
    pub(crate) fn split(&self, records: &[Record]) -> Vec<Part> {
        let by_allocation = self.split_if(records, false);
        by_allocation.unwrap_or_else(|| self.split_if(records, true).unwrap_or_default())
    }

    /// Like [`Self::split`], but keeps the order of the records if `in_order` is set, in more parts. Otherwise, fails if
    /// an access is in more than one allocation, because the order matters then.
    fn split_if(&self, records: &[Record], in_order: bool) -> Option<Vec<Part>> {
        let mut parts: Vec<Part> = Vec::new();
        for record in records {
            let mut rest = Some(*record);
            while let Some(record) = rest {
                let address = record.address;
                let mut known = parts.iter().rposition(|part| part.range.contains(&address));
                known = known.filter(|&index| !in_order || index == parts.len() - 1);
                let index = known.unwrap_or_else(|| {
                    let (range, allocation) = self.range_at(address);
                    parts.push(Part {
                        allocation,
                        range,
                        records: Vec::new(),
                    });
                    parts.len() - 1
                });
                let part = &mut parts[index];
                // The last byte of the address space is in no range.
                let left = (part.range.end - address).max(1);
                let (first, more) = record.split_before(left);
                if first.extent() as u64 > left && !in_order {
                    return None;
                }
                part.records.push(first);
                rest = more;
            }
        }
        Some(parts)
    }

    /// Returns the allocation that the whole range belongs to.
    pub(crate) fn sole_allocation(&self, start: u64, end: u64) -> SoleAllocation {
        let (range, id) = self.range_at(start);
        (range.end >= end).then_some(id)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Details {
    /// Communicated bytes of the current launch.
    site_flows: FxHashMap<SiteFlowKey, SiteFlowAmount>,
    /// Latest flow; its bytes are not in `site_flows` yet.
    latest: Option<(SiteFlowKey, SiteFlowAmount)>,
    arrays: FxHashMap<(Option<AllocationId>, u32), Volume>,
    within_launch: FxHashMap<WithinKey, u64>,
    pub(crate) footprint: Footprint,
    pub(crate) unwritten: unwritten::LaunchAmounts,
}

impl Details {
    #[inline]
    pub(crate) fn site_flow(&mut self, key: SiteFlowKey, loaded_bytes: u64, is_other_cta: bool) {
        let amount = SiteFlowAmount {
            loaded_bytes,
            other_cta_bytes: if is_other_cta { loaded_bytes } else { 0 },
        };
        match &mut self.latest {
            Some((latest, sum)) if *latest == key => *sum += amount,
            _ => {
                self.end_site_flow();
                self.latest = Some((key, amount));
            }
        }
    }

    fn end_site_flow(&mut self) {
        if let Some((key, amount)) = self.latest.take() {
            *self.site_flows.entry(key).or_default() += amount;
        }
    }

    /// Removes and returns the current launch's flows between instructions.
    pub(crate) fn site_flows(&mut self) -> impl Iterator<Item = (SiteFlowKey, SiteFlowAmount)> {
        self.end_site_flow();
        self.site_flows.drain()
    }

    pub(crate) fn within_launch(&mut self, key: WithinKey, loaded_bytes: u64) {
        *self.within_launch.entry(key).or_default() += loaded_bytes;
    }

    /// Attributes `sums` to an allocation, if there is a sole one, and adds the sums from `before`.
    pub(crate) fn attribute(
        &mut self,
        allocation: SoleAllocation,
        kernel: u32,
        before: Volume,
        sums: &mut Volume,
    ) {
        if let Some(allocation) = allocation {
            *self.arrays.entry((allocation, kernel)).or_default() += Volume {
                loaded_bytes: sums.communicated_loaded_bytes
                    + sums.self_loaded_bytes
                    + sums.input_loaded_bytes
                    + sums.unwritten_bytes()
                    + sums.unknown_loaded_bytes
                    + sums.local_loaded_bytes,
                several_writers_bytes: 0,
                racing_bytes: 0,
                ..*sums
            };
        }
        *sums += before;
    }

    pub(crate) fn stores(
        &mut self,
        allocation: Option<AllocationId>,
        kernel: u32,
        records: &[Record],
    ) {
        let stores = records.iter().filter(|record| record.writes());
        let array = self.arrays.entry((allocation, kernel)).or_default();
        array.stored_bytes += stores.map(Record::volume).sum::<u64>();
    }
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    arrays: BTreeMap<(Option<AllocationId>, u32), Volume>,
    within_launch: BTreeMap<WithinKey, u64>,
    accessed: BTreeMap<SiteId, SiteCount>,
    pub(crate) footprints: Vec<Footprint>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FoundRows {
    /// Rows by allocation and kernel.
    pub(crate) arrays: Vec<ArrayVolume>,
    /// Rows by kernel, site and allocation.
    pub(crate) within_launch: Vec<WithinLaunch>,
    pub(crate) accessed: Vec<(SiteId, SiteCount)>,
}

impl FoundRows {
    pub(crate) fn extend(&mut self, other: Self) {
        self.accessed.extend(other.accessed);
        self.arrays.extend(other.arrays);
        self.within_launch.extend(other.within_launch);
    }
}

impl Found {
    /// Adds the results of one shard at the end of the run.
    pub(crate) fn add(&mut self, details: Details) {
        for (key, volume) in details.arrays {
            *self.arrays.entry(key).or_default() += volume;
        }
        for (key, bytes) in details.within_launch {
            *self.within_launch.entry(key).or_default() += bytes;
        }
    }

    pub(crate) fn add_accessed(&mut self, sites: impl IntoIterator<Item = (SiteId, SiteCount)>) {
        for (site, count) in sites {
            *self.accessed.entry(site).or_default() += count;
        }
    }

    pub(crate) fn add_rows(&mut self, rows: &FoundRows) {
        for row in &rows.arrays {
            *self.arrays.entry((row.allocation, row.kernel)).or_default() += row.volume;
        }
        self.add_accessed(rows.accessed.iter().copied());
        for row in &rows.within_launch {
            let key = (row.kernel, row.site, row.allocation);
            *self.within_launch.entry(key).or_default() += row.loaded_bytes;
        }
    }

    /// Returns the rows, and the footprints by launch.
    pub(crate) fn into_rows(self) -> (FoundRows, Vec<Footprint>) {
        let arrays = self.arrays.into_iter();
        let arrays = arrays.filter(|(_, volume)| *volume != Volume::default());
        let within_launch = self.within_launch.into_iter();
        let within_launch =
            within_launch.map(|((kernel, site, allocation), loaded_bytes)| WithinLaunch {
                kernel,
                site,
                allocation,
                loaded_bytes,
            });
        let rows = FoundRows {
            arrays: arrays
                .map(|((allocation, kernel), volume)| ArrayVolume {
                    allocation,
                    kernel,
                    volume,
                })
                .collect(),
            within_launch: within_launch.collect(),
            accessed: self.accessed.into_iter().collect(),
        };
        (rows, self.footprints)
    }
}

/// Adds up the flows to the launch at `receiver_launch` and returns them in ascending order.
pub(crate) fn site_flows(
    receiver_launch: u32,
    parts: Vec<(SiteFlowKey, SiteFlowAmount)>,
) -> impl Iterator<Item = SiteFlow> {
    let mut sums: BTreeMap<SiteFlowKey, SiteFlowAmount> = BTreeMap::new();
    for (key, amount) in parts {
        *sums.entry(key).or_default() += amount;
    }
    sums.into_iter().map(move |(key, amount)| SiteFlow {
        receiver_launch,
        key,
        amount,
    })
}

#[derive(FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct Touched {
    launch: u64,
    last: [u64; WORDS],
    ever: [u64; WORDS],
}

impl Touched {
    pub(crate) fn new() -> Self {
        Self {
            launch: u64::MAX,
            last: [0; WORDS],
            ever: [0; WORDS],
        }
    }

    pub(crate) fn forget(&mut self, offset: usize, len: usize) {
        for_each_word(offset, len, |word, mask| {
            self.last[word] &= !mask;
            self.ever[word] &= !mask;
        });
    }

    pub(crate) fn launch(&mut self, launch: u32, touches: &Touches, footprint: &mut Footprint) {
        let Touches { reads, writes } = touches;
        let follows = self.launch.wrapping_add(1) == u64::from(launch);
        let bits = |word: u64| u64::from(word.count_ones());
        for word in 0..WORDS {
            let touched = reads[word] | writes[word];
            footprint.read_bytes += bits(reads[word]);
            footprint.written_bytes += bits(writes[word]);
            footprint.touched_bytes += bits(touched);
            if follows {
                footprint.again_bytes += bits(touched & self.last[word]);
            }
            footprint.known_bytes += bits(touched & self.ever[word]);
            self.last[word] = touched;
            self.ever[word] |= touched;
        }
        self.launch = u64::from(launch);
    }
}

pub(crate) struct Touches {
    reads: [u64; WORDS],
    writes: [u64; WORDS],
}

impl Default for Touches {
    fn default() -> Self {
        Self {
            reads: [0; WORDS],
            writes: [0; WORDS],
        }
    }
}

impl Touches {
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        for_each_word(record.offset(), record.extent(), |word, mask| {
            self.reads[word] |= if record.reads() { mask } else { 0 };
            self.writes[word] |= if record.writes() { mask } else { 0 };
        });
    }

    pub(crate) fn writes(&self) -> bool {
        self.writes.iter().any(|word| *word != 0)
    }
}

#[cfg(test)]
mod tests;
