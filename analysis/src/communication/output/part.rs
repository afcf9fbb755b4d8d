//! Sums from the analysis of some of the pages. The sum of all parts is the result for the program.

use super::detail::{Footprint, FoundRows, SiteFlowAmount, SiteFlowKey};
use super::strides::StrideCounts;
use super::sums::{Amount, ShardOut};
use super::volume::{Transfer, Volume};
use crate::communication::spill::sorted::Item;
use crate::communication::state::shadow::Tag;
use crate::communication::state::unwritten;
use crate::counts::Counts;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use superstep_trace::{AllocationId, SiteId};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Receiving CTA, index and source of an access across a page boundary.
pub(crate) type WideSource = (u32, u32, Tag);

/// Sums over one launch's accesses to some of the pages.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LaunchPart {
    pub(crate) volume: Volume,
    /// Received bytes, by source launch.
    pub(crate) flows: BTreeMap<u32, Amount>,
    pub(crate) footprint: Footprint,
    pub(crate) unwritten: Vec<((SiteId, AllocationId), unwritten::Amount)>,
    pub(crate) site_flows: Vec<(SiteFlowKey, SiteFlowAmount)>,
    /// Distances between communicating loads.
    pub(crate) loads: StrideCounts,
}

impl LaunchPart {
    /// Adds one shard's results for the latest launch, except for accesses across page boundaries.
    pub(crate) fn add_shard(&mut self, out: &mut ShardOut) {
        // Received bytes are in `flows`, and the communicated stores of all launches in `ShardOut::communicated_stored`.
        self.volume += Volume {
            received_bytes: 0,
            communicated_stored_bytes: 0,
            ..std::mem::take(&mut out.sums)
        };
        for (launch, amount) in out.flows.drain() {
            *self.flows.entry(launch).or_default() += amount;
        }
        self.footprint += std::mem::take(&mut out.details.footprint);
        self.unwritten.extend(out.details.unwritten.drain());
        self.site_flows.extend(out.details.site_flows());
        super::strides::add(&mut self.loads, &std::mem::take(&mut out.loads.distances));
    }

    /// Counts an access across a page boundary after its bytes have been counted; returns its share of a transfer.
    pub(crate) fn wide(
        &mut self,
        receiver_launch: u32,
        receiver_cta: u32,
        source: Tag,
    ) -> Option<Transfer> {
        let source_launch = source.launch()?;
        self.flows.entry(source_launch).or_default().count += 1;
        Some(Transfer {
            source_launch,
            source_cta: source.cta_number(),
            receiver_launch,
            receiver_cta,
            bytes: 0,
            count: 1,
        })
    }

    pub(crate) fn add_counts(&mut self, counts: &Counts) {
        self.volume.loaded_bytes += counts.loaded_bytes + counts.atomic_bytes;
        self.volume.stored_bytes += counts.stored_bytes + counts.atomic_bytes;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.volume += other.volume;
        for (source, amount) in other.flows {
            *self.flows.entry(source).or_default() += amount;
        }
        self.footprint += other.footprint;
        self.unwritten.extend(other.unwritten);
        self.site_flows.extend(other.site_flows);
        super::strides::add(&mut self.loads, &other.loads);
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct LaunchSums {
    pub(crate) counts: Counts,
    pub(crate) part: LaunchPart,
    pub(crate) stores: StrideCounts,
}

/// Sums over some of the chunks or pages. They can be added in any order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sums {
    /// Sums by launch position; launches without results are absent.
    pub(crate) launches: BTreeMap<u32, LaunchSums>,
    pub(crate) found: FoundRows,
    pub(crate) written_copies: BTreeSet<u32>,
}

impl Sums {
    pub(crate) fn launch(&mut self, position: u32) -> &mut LaunchSums {
        self.launches.entry(position).or_default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        for (position, more) in other.launches {
            let sum = self.launch(position);
            sum.counts += more.counts;
            sum.part.add(more.part);
            super::strides::add(&mut sum.stores, &more.stores);
        }
        self.found.extend(other.found);
        self.written_copies.extend(other.written_copies);
    }
}

/// One source of an access across a page boundary, found in one of its pages. Others may be analysed elsewhere.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoBytes, FromBytes, Immutable,
)]
#[repr(C)]
pub(crate) struct WidePart {
    pub(crate) launch: u32,
    pub(crate) cta: u32,
    pub(crate) address: u64,
    width: u64,
    source: u64,
}

impl WidePart {
    pub(crate) fn new(launch: u32, cta: u32, (address, width): (u64, u32), source: Tag) -> Self {
        Self {
            launch,
            cta,
            address,
            width: u64::from(width),
            source: source.0,
        }
    }

    pub(crate) fn source(&self) -> Tag {
        Tag(self.source)
    }
}

impl Item for WidePart {
    fn key(&self) -> u128 {
        u128::from(self.launch) << 96 | u128::from(self.cta) << 64 | u128::from(self.address)
    }

    fn join(&mut self, other: &Self) -> bool {
        self == other
    }
}
