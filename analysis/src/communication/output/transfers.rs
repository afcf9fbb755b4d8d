//! The transfers of a program, in memory or on disk.

use super::volume::Transfer;
use crate::communication::spill::file::{Fixed, fixed};
use crate::communication::spill::sorted::{Item, Sorted};
use crate::error::Result;
use std::sync::Arc;

/// Transfers in ascending order, one for each pair of CTAs and launches.
#[derive(Clone, Debug)]
pub struct Transfers(Arc<Sorted<Transfer>>);

impl Transfers {
    pub(crate) fn new(sorted: Sorted<Transfer>) -> Self {
        Self(Arc::new(sorted))
    }

    pub fn len(&self) -> u64 {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Passes each transfer to `sink`, in order.
    pub fn each(&self, mut sink: impl FnMut(&Transfer)) -> Result<()> {
        self.0.each(|transfer| {
            sink(transfer);
            Ok(())
        })
    }

    /// Passes the transfers of each source CTA to `sink`.
    pub fn each_source(&self, sink: impl FnMut(&[Transfer])) -> Result<()> {
        self.0.groups(
            |transfer| (transfer.source_launch, transfer.source_cta),
            sink,
        )
    }

    pub fn to_vec(&self) -> Result<Vec<Transfer>> {
        let mut all = Vec::new();
        self.each(|transfer| all.push(*transfer))?;
        Ok(all)
    }
}

impl Default for Transfers {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Vec<Transfer>> for Transfers {
    fn from(mut transfers: Vec<Transfer>) -> Self {
        transfers.sort_unstable();
        Self::new(Sorted::of(transfers))
    }
}

impl PartialEq for Transfers {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && matches!((self.to_vec(), other.to_vec()), (Ok(a), Ok(b)) if a == b)
    }
}

impl Eq for Transfers {}

fixed!(Transfer {
    source_launch: u32,
    source_cta: u32,
    receiver_launch: u32,
    receiver_cta: u32,
    bytes: u64,
    count: u64
});

impl Transfer {
    fn ends(&self) -> [u32; 4] {
        [
            self.source_launch,
            self.source_cta,
            self.receiver_launch,
            self.receiver_cta,
        ]
    }
}

impl Item for Transfer {
    #[inline]
    fn key(&self) -> u128 {
        (self.ends().iter()).fold(0, |key, &end| key << 32 | u128::from(end))
    }

    fn join(&mut self, other: &Self) -> bool {
        let same = self.ends() == other.ends();
        if same {
            self.bytes += other.bytes;
            self.count += other.count;
        }
        same
    }
}
