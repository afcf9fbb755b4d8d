//! Numeric identifiers as newtypes.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

ids! {
    /// The superstep: the index of a launch within its stream, from 0, counting launches of all kernels.
    LaunchId;
    /// Index of a CUDA stream within the program, in order of first use; the default stream is 0.
    StreamId;
    /// A static memory instruction: module index in the high 16 bits, index within the module in the low 16.
    SiteId;
    /// Ordinal of an allocation or symbol within the program, from 0, in order of appearance; never reused.
    AllocationId;
}

impl SiteId {
    /// Site ID of grid-barrier marks; it appears in no site table.
    pub const GRID_BARRIER: Self = Self(u32::MAX);

    pub const fn new(module: u16, local: u16) -> Self {
        Self((module as u32) << 16 | local as u32)
    }

    /// Returns the index of the module (translation unit).
    pub const fn module(self) -> u32 {
        self.0 >> 16
    }

    /// Returns the index of the site within its module.
    pub const fn local(self) -> u32 {
        self.0 & 0xffff
    }
}
