//! Tables of communication: volumes by launch, by kernel and in all, and transfers between CTAs.

use super::detail::{ArrayVolume, Footprint, SiteVolume};
use super::strides::LaunchStrides;
use super::transfers::Transfers;
use super::unwritten::UnwrittenRead;
use serde::{Deserialize, Serialize};
use superstep_trace::{LaunchId, StreamId};

/// Volumes in bytes. An atomic operation both loads and stores its bytes here.
///
/// The five classes of loaded bytes add up to `loaded_bytes`; each access counts its whole width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Loaded by all threads.
    pub loaded_bytes: u64,
    /// Of those: last written in an earlier launch by another entity.
    pub communicated_loaded_bytes: u64,
    /// Of those: last written in an earlier launch by the same entity alone.
    pub self_loaded_bytes: u64,
    /// Of those: last written by the host.
    pub input_loaded_bytes: u64,
    /// Of those: written by nobody.
    pub uninitialised_loaded_bytes: u64,
    /// Of those: written earlier in the same launch by the same thread.
    pub local_loaded_bytes: u64,
    /// Received: each byte once for each receiving CTA, launch and source CTA.
    pub received_bytes: u64,
    /// Received: distinct (address, width) reads once for each receiving CTA, launch and source CTA.
    pub received_count: u64,
    /// Stored by all threads.
    pub stored_bytes: u64,
    /// Stored and read by another entity in a later launch: each byte once for each launch and CTA that wrote it.
    pub communicated_stored_bytes: u64,
    /// Written by several CTAs in the same launch, each byte once.
    pub several_writers_bytes: u64,
    /// Of those: where at least one of the writes is a plain store, a race between CTAs.
    pub racing_bytes: u64,
}

impl Volume {
    pub fn add(&mut self, other: &Volume) {
        self.loaded_bytes += other.loaded_bytes;
        self.communicated_loaded_bytes += other.communicated_loaded_bytes;
        self.self_loaded_bytes += other.self_loaded_bytes;
        self.input_loaded_bytes += other.input_loaded_bytes;
        self.uninitialised_loaded_bytes += other.uninitialised_loaded_bytes;
        self.local_loaded_bytes += other.local_loaded_bytes;
        self.received_bytes += other.received_bytes;
        self.received_count += other.received_count;
        self.stored_bytes += other.stored_bytes;
        self.communicated_stored_bytes += other.communicated_stored_bytes;
        self.several_writers_bytes += other.several_writers_bytes;
        self.racing_bytes += other.racing_bytes;
    }

    /// Communicated over stored bytes, from 0 to 1; 0 where nothing was stored.
    pub fn share(&self) -> f64 {
        if self.stored_bytes == 0 {
            0.0
        } else {
            self.communicated_stored_bytes as f64 / self.stored_bytes as f64
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchVolume {
    pub stream: StreamId,
    pub superstep: LaunchId,
    pub kernel: String,
    /// Its volumes; what it stored may have been read at any later time.
    pub volume: Volume,
}

/// Volumes of all launches of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelVolume {
    pub kernel: String,
    pub launches: u64,
    pub volume: Volume,
}

/// Bytes that went from one launch to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flow {
    /// Index of the source in [`Communication::launches`].
    pub source_launch: u32,
    /// Index of the receiver in [`Communication::launches`].
    pub receiver_launch: u32,
    /// Sum of `bytes` of the transfers between them.
    pub bytes: u64,
    /// Sum of `count` of the transfers between them.
    pub count: u64,
}

/// What one CTA of one launch received from one CTA of an earlier launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Transfer {
    /// Index of the source in [`Communication::launches`].
    pub source_launch: u32,
    /// Linear CTA number of the source.
    pub source_cta: u32,
    /// Index of the receiver in [`Communication::launches`].
    pub receiver_launch: u32,
    /// Linear CTA number of the receiver.
    pub receiver_cta: u32,
    pub bytes: u64,
    /// Distinct (address, width) reads.
    pub count: u64,
}

/// Everything that [`super::Engine`] finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Communication {
    /// By launch, in the order of their sequence numbers.
    pub launches: Vec<LaunchVolume>,
    /// By kernel, in the order of first launch.
    pub kernels: Vec<KernelVolume>,
    pub total: Volume,
    /// From launch to launch, sorted.
    pub flows: Vec<Flow>,
    /// From CTA to CTA, sorted; empty unless [`super::Options::transfers`] asks for them.
    pub transfers: Transfers,
    /// By launch, in the order of `launches`; empty unless [`super::Options::strides`] asks for them.
    pub strides: Vec<LaunchStrides>,
    /// By instruction, those that communicate; empty unless [`super::Options::details`] asks for them.
    pub sites: Vec<SiteVolume>,
    /// By allocation and kernel, in ascending order; empty unless [`super::Options::details`] asks for them.
    pub arrays: Vec<ArrayVolume>,
    /// By launch, in the order of `launches`; empty unless [`super::Options::details`] asks for them.
    pub footprints: Vec<Footprint>,
    /// Loads of what nothing had written, in ascending order; empty unless [`super::Options::details`] asks for them.
    pub unwritten: Vec<UnwrittenRead>,
}
