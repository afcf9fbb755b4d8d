//! Sums of a launch's accesses, aggregated while it ran, without a trace.

pub(crate) mod cta_blocks;
pub(crate) mod parts;

use crate::{LaunchId, StreamId};
use serde::{Deserialize, Serialize};

/// Implements `AddAssign` for a type by adding each listed field.
#[macro_export]
macro_rules! add_assign {
    ($type:ty: $($field:ident),+) => {
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }
    };
}

add_assign!(Tally: threads, bytes, warps);
add_assign!(LoadedBytes: communicated, own, input, uninitialised, unknown, local, perhaps_local);
add_assign!(FirstRead: stored_bytes, several_bytes, perhaps_again_bytes);
add_assign! {
    LaunchSums: loads, stores, atomics, loaded, several_writers_bytes, racing_bytes,
        within_launch_loaded_bytes, within_launch_atomic_bytes, unshadowed_loaded_bytes,
        unshadowed_stored_bytes
}

/// Accesses of one kind: loads, stores or atomics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Accesses, counting each lane.
    pub threads: u64,
    /// Bytes accessed, counting each access at its full width.
    pub bytes: u64,
    /// Access groups.
    pub warps: u64,
}

/// A number between two bounds, which are equal if it is known exactly.
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

/// Loaded bytes by class (see `docs/metrics.md`), including those loaded by atomics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedBytes {
    pub communicated: u64,
    pub own: u64,
    pub input: u64,
    pub uninitialised: u64,
    pub unknown: u64,
    pub local: u64,
    /// Bytes counted above, other than in `local`, that the reading thread might have written in this launch, which
    /// would make them local.
    pub perhaps_local: u64,
}

impl LoadedBytes {
    pub const fn all(&self) -> u64 {
        self.communicated + self.own + self.input + self.uninitialised + self.unknown + self.local
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSums {
    pub stream: StreamId,
    pub launch: LaunchId,
    pub loads: Tally,
    pub stores: Tally,
    pub atomics: Tally,
    pub loaded: LoadedBytes,
    /// Bytes that more than one CTA wrote.
    pub several_writers_bytes: u64,
    /// The part of `several_writers_bytes` that at least one plain store wrote.
    pub racing_bytes: u64,
    /// Bytes loaded without atomics that another CTA had stored earlier in the launch. This is a lower bound:
    /// if the CTAs ran in another order, they might exchange more.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub within_launch_loaded_bytes: u64,
    /// The same count for bytes loaded by atomics; always 0 on a GPU.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub within_launch_atomic_bytes: u64,
    /// Bytes loaded from memory without a shadow. They count as unknown and could be of any class.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub unshadowed_loaded_bytes: u64,
    /// Bytes stored to memory without a shadow. Their other writers and readers are unknown.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub unshadowed_stored_bytes: u64,
}

impl LaunchSums {
    pub fn new(stream: StreamId, launch: LaunchId) -> Self {
        LaunchSums {
            stream,
            launch,
            ..LaunchSums::default()
        }
    }

    /// Returns the number of accesses, counting each lane.
    pub const fn thread_accesses(&self) -> u64 {
        self.loads.threads + self.stores.threads + self.atomics.threads
    }
}

/// Part of the data that one CTA received from another; parts for the same pair are summed. Launches are identified by
/// [`crate::LaunchRecord::number`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

/// Bytes that one launch stores and a later one loads. Parts for the same pair are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FirstRead {
    pub source_launch: u32,
    pub receiver_launch: u32,
    /// Bytes stored by the source that another entity reads for the first time.
    pub stored_bytes: u64,
    /// Bytes read whose last writer could be any of several CTAs of the source. Neither `stored_bytes` nor
    /// [`Received`] counts them fully.
    pub several_bytes: u64,
    /// Bytes that the reader might have read before.
    pub perhaps_again_bytes: u64,
}

/// Parts of tables that are too large to keep until the program exits.
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
