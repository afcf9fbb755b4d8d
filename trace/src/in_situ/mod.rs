//! Sums of the accesses of a launch that were aggregated while it ran, without a trace.

pub(crate) mod cta_blocks;
pub(crate) mod parts;

use crate::{LaunchId, StreamId};
use serde::{Deserialize, Serialize};

/// Accesses of one kind: loads, stores or atomics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Each lane counted.
    pub threads: u64,
    /// Each access with its whole width.
    pub bytes: u64,
    /// Access groups.
    pub warps: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.threads += other.threads;
        self.bytes += other.bytes;
        self.warps += other.warps;
    }
}

/// A number that lies between two others, the same where it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub least: u64,
    pub most: u64,
}

impl Bounds {
    pub const fn exactly(value: u64) -> Self {
        Bounds {
            least: value,
            most: value,
        }
    }

    pub const fn is_exact(self) -> bool {
        self.least == self.most
    }
}

impl std::ops::AddAssign for Bounds {
    fn add_assign(&mut self, other: Self) {
        self.least += other.least;
        self.most = self.most.saturating_add(other.most);
    }
}

/// Loaded bytes by what the byte was, as `docs/metrics.md` defines the classes; atomics load too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedBytes {
    pub communicated: u64,
    pub own: u64,
    pub input: u64,
    pub uninitialised: u64,
    pub unknown: u64,
    pub local: u64,
    /// Bytes above, other than `local`, that the reading thread may have written itself in the launch: then they are
    /// local.
    pub perhaps_local: u64,
}

impl LoadedBytes {
    pub const fn all(&self) -> u64 {
        self.communicated + self.own + self.input + self.uninitialised + self.unknown + self.local
    }
}

impl std::ops::AddAssign for LoadedBytes {
    fn add_assign(&mut self, other: Self) {
        self.communicated += other.communicated;
        self.own += other.own;
        self.input += other.input;
        self.uninitialised += other.uninitialised;
        self.unknown += other.unknown;
        self.local += other.local;
        self.perhaps_local += other.perhaps_local;
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSums {
    pub stream: StreamId,
    pub launch: LaunchId,
    pub loads: Tally,
    pub stores: Tally,
    pub atomics: Tally,
    pub loaded: LoadedBytes,
    /// Bytes that several CTAs wrote.
    pub several_writers_bytes: u64,
    /// Of those, bytes to which one of the writes was a plain store.
    pub racing_bytes: u64,
    /// Bytes loaded without atomics that another CTA had stored in the launch: a lower bound, as this is one of many orders.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub within_launch_loaded_bytes: u64,
    /// The same of atomics; always 0 on a GPU.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub within_launch_atomic_bytes: u64,
    /// Bytes loaded where there was no shadow memory: they count as unknown and may be of any class.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unshadowed_loaded_bytes: u64,
    /// Bytes stored where there was none: their other writers and readers are not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unshadowed_stored_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LaunchSums {
    pub const fn new(stream: StreamId, launch: LaunchId) -> Self {
        const NONE: Tally = Tally {
            threads: 0,
            bytes: 0,
            warps: 0,
        };
        LaunchSums {
            stream,
            launch,
            loads: NONE,
            stores: NONE,
            atomics: NONE,
            loaded: LoadedBytes {
                communicated: 0,
                own: 0,
                input: 0,
                uninitialised: 0,
                unknown: 0,
                local: 0,
                perhaps_local: 0,
            },
            several_writers_bytes: 0,
            racing_bytes: 0,
            within_launch_loaded_bytes: 0,
            within_launch_atomic_bytes: 0,
            unshadowed_loaded_bytes: 0,
            unshadowed_stored_bytes: 0,
        }
    }

    /// Each lane counted.
    pub const fn thread_accesses(&self) -> u64 {
        self.loads.threads + self.stores.threads + self.atomics.threads
    }
}

impl std::ops::AddAssign<&LaunchSums> for LaunchSums {
    fn add_assign(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.loaded += other.loaded;
        self.several_writers_bytes += other.several_writers_bytes;
        self.racing_bytes += other.racing_bytes;
        self.within_launch_loaded_bytes += other.within_launch_loaded_bytes;
        self.within_launch_atomic_bytes += other.within_launch_atomic_bytes;
        self.unshadowed_loaded_bytes += other.unshadowed_loaded_bytes;
        self.unshadowed_stored_bytes += other.unshadowed_stored_bytes;
    }
}

/// A part of what one CTA received from another; parts of the same pair add up. Launches are numbered as
/// [`crate::LaunchRecord::number`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Received {
    pub source_launch: u32,
    pub source_cta: u32,
    pub receiver_launch: u32,
    pub receiver_cta: u32,
    /// Distinct bytes.
    pub bytes: u64,
    /// Distinct pairs of address and width.
    pub count: u64,
}

/// Facts about the stores of earlier launches that one launch's loads give, and those it could not tell apart. Parts of the
/// same pair add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FirstRead {
    pub source_launch: u32,
    pub receiver_launch: u32,
    /// Bytes of the source's stores that another entity now read for the first time.
    pub stored_bytes: u64,
    /// Bytes read of which several CTAs of the source were the last writers, which are not known: neither `stored_bytes` nor
    /// what was received from each counts them fully.
    pub several_bytes: u64,
    /// Bytes read of which it is not known whether their reader had read them before.
    pub perhaps_again_bytes: u64,
}

/// Parts of tables that are too large to be kept until the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub received: Vec<Received>,
    pub first_read: Vec<FirstRead>,
}

impl Parts {
    pub const fn is_empty(&self) -> bool {
        self.received.is_empty() && self.first_read.is_empty()
    }
}
