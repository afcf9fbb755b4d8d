//! Communication tables: volumes by launch, by kernel and in total, and transfers between CTAs.

use super::detail::{ArrayVolume, Footprint, SiteFlow, WithinLaunch};
use super::strides::LaunchStrides;
use super::transfers::Transfers;
use crate::columns;
use crate::communication::state::unwritten::UnwrittenRead;
use crate::metrics::share;
use crate::scan::SiteCount;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use superstep_table::table;
use superstep_trace::{LaunchId, SiteId, StreamId};
use zerocopy::{FromBytes, Immutable, IntoBytes};

table! {
    /// Volumes in bytes. An atomic operation counts as both a load and a store of its bytes.
    ///
    /// The seven classes of loaded bytes add up to `loaded_bytes`; each access counts at its full width.
    pub struct Volume: Copy, Eq, Serialize, Deserialize {
        loaded_bytes: u64 ["bytes"] = "loaded, including atomics; the next seven columns add up to it";
        communicated_loaded_bytes: u64 ["bytes"] = columns::COMMUNICATED_LOADED_BYTES;
        self_loaded_bytes: u64 ["bytes"] = columns::SELF_LOADED_BYTES;
        input_loaded_bytes: u64 ["bytes"] = columns::INPUT_LOADED_BYTES;
        uninitialised_loaded_bytes: u64 ["bytes"] = columns::UNINITIALISED_LOADED_BYTES;
        unordered_loaded_bytes: u64 ["bytes"] = columns::UNORDERED_LOADED_BYTES;
        unknown_loaded_bytes: u64 ["bytes"] = columns::UNKNOWN_LOADED_BYTES;
        local_loaded_bytes: u64 ["bytes"] = columns::LOCAL_LOADED_BYTES;
        within_launch_loaded_bytes: u64 ["bytes"] = columns::WITHIN_LAUNCH_LOADED_BYTES;
        within_launch_atomic_bytes: u64 ["bytes"] = columns::WITHIN_LAUNCH_ATOMIC_BYTES;
        received_bytes: u64 ["bytes"] = columns::RECEIVED_BYTES;
        received_count: u64 ["reads"] =
            "each (address, width) pair counted once per receiving CTA, launch and source CTA";
        stored_bytes: u64 ["bytes"] = columns::STORED_BYTES;
        communicated_stored_bytes: u64 ["bytes"] =
            "later read by another entity, each byte counted once per launch and CTA that wrote it";
        several_writers_bytes: u64 ["bytes"] = "written by several CTAs in one launch";
        racing_bytes: u64 ["bytes"] = "of these, bytes for which at least one write is a plain store";
    }
}

crate::add_assign! {
    Volume: loaded_bytes, communicated_loaded_bytes, self_loaded_bytes, input_loaded_bytes,
        uninitialised_loaded_bytes, unordered_loaded_bytes, unknown_loaded_bytes, local_loaded_bytes,
        within_launch_loaded_bytes, within_launch_atomic_bytes, received_bytes, received_count, stored_bytes,
        communicated_stored_bytes, several_writers_bytes, racing_bytes
}

impl Volume {
    /// Returns the communicated share of stored bytes; 0 if nothing was stored.
    pub fn share(&self) -> f64 {
        share(self.communicated_stored_bytes, self.stored_bytes)
    }

    /// Returns the loaded bytes that nothing had written before the launch.
    pub(crate) fn unwritten_bytes(&self) -> u64 {
        self.uninitialised_loaded_bytes + self.unordered_loaded_bytes
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchVolume {
    pub stream: StreamId,
    pub superstep: LaunchId,
    pub kernel: String,
    /// Volumes of the launch; its stores count as communicated no matter how much later they are read.
    pub volume: Volume,
}

/// Volumes of all launches of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelVolume {
    pub kernel: String,
    pub launches: u64,
    pub volume: Volume,
}

/// Sums the volumes by kernel, in order of first launch, and over all launches.
pub(crate) fn by_kernel(launches: &[LaunchVolume]) -> (Vec<KernelVolume>, Volume) {
    let mut kernels: Vec<KernelVolume> = Vec::new();
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut total = Volume::default();
    for launch in launches {
        let number = *numbers.entry(&launch.kernel).or_insert_with(|| {
            kernels.push(KernelVolume {
                kernel: launch.kernel.clone(),
                launches: 0,
                volume: Volume::default(),
            });
            kernels.len() - 1
        });
        kernels[number].launches += 1;
        kernels[number].volume += launch.volume;
        total += launch.volume;
    }
    (kernels, total)
}

/// Sum of the transfers from one launch to another. Launches are indices into [`Communication::launches`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    pub source_launch: u32,
    pub receiver_launch: u32,
    pub bytes: u64,
    pub count: u64,
}

table! {
    /// Bytes that a CTA in one launch received from a CTA in another launch.
    #[repr(C)]
    pub struct Transfer = "transfers": Copy, Eq, PartialOrd, Ord, IntoBytes, FromBytes, Immutable {
        source_launch: u32 = "launch that wrote the bytes";
        source_cta: u32 = "linear index of the CTA that wrote the bytes";
        receiver_launch: u32 = "launch that read the bytes";
        receiver_cta: u32 = "linear index of the CTA that read the bytes";
        bytes: u64 ["bytes"] = "distinct bytes";
        count: u64 = "distinct pairs of address and width";
    }
}

/// Results of [`super::Engine`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Communication {
    /// Volumes by launch, in order of sequence number.
    pub launches: Vec<LaunchVolume>,
    /// Volumes by kernel, in order of first launch.
    pub kernels: Vec<KernelVolume>,
    pub total: Volume,
    /// Flows between launches, sorted.
    pub flows: Vec<Flow>,
    /// Transfers between CTAs, sorted; empty unless [`super::Options::transfers`] is set.
    pub transfers: Transfers,
    /// Strides, in the order of `launches`; empty unless [`super::Options::strides`] is set.
    pub strides: Vec<LaunchStrides>,
    /// Communication between instructions, in ascending order; empty unless [`super::Options::details`] is set.
    pub site_flows: Vec<SiteFlow>,
    /// Volumes by allocation and kernel, in ascending order; empty unless [`super::Options::details`] is set.
    pub arrays: Vec<ArrayVolume>,
    /// Footprints, in the order of `launches`; empty unless [`super::Options::details`] is set.
    pub footprints: Vec<Footprint>,
    /// Loads of bytes that another CTA stores in the same launch, in ascending order; empty unless
    /// [`super::Options::details`] is set.
    pub within_launch: Vec<WithinLaunch>,
    /// Accesses by instruction, in ascending order; empty unless [`super::Options::details`] is set.
    pub accessed: Vec<(SiteId, SiteCount)>,
    /// Loads of unwritten bytes, in ascending order; empty unless [`super::Options::details`] is set.
    pub unwritten: Vec<UnwrittenRead>,
}
