//! The transfers of a program, in memory or on disk.

use super::sorted::{Item, Sorted};
use super::spill::{Fixed, u32_at, u64_at};
use super::volume::Transfer;
use crate::error::Result;
use std::sync::Arc;

/// Transfers in ascending order, each pair of CTAs and launches once.
#[derive(Clone, Debug)]
pub struct Transfers(Data);

#[derive(Clone, Debug)]
enum Data {
    Memory(Vec<Transfer>),
    Sorted(Arc<Sorted<Transfer>>),
}

impl Transfers {
    pub(crate) fn new(sorted: Sorted<Transfer>) -> Self {
        Self(Data::Sorted(Arc::new(sorted)))
    }

    pub fn len(&self) -> u64 {
        match &self.0 {
            Data::Memory(transfers) => transfers.len() as u64,
            Data::Sorted(sorted) => sorted.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands each transfer to `sink`, in order.
    pub fn each(&self, mut sink: impl FnMut(&Transfer)) -> Result<()> {
        match &self.0 {
            Data::Memory(transfers) => transfers.iter().for_each(sink),
            Data::Sorted(sorted) => sorted.each(&mut |transfer: &Transfer| {
                sink(transfer);
                Ok(())
            })?,
        }
        Ok(())
    }

    /// Hands neighbours that `same` puts together to `sink` as slices.
    pub fn each_chunk(
        &self,
        same: impl Fn(&Transfer, &Transfer) -> bool,
        mut sink: impl FnMut(&[Transfer]),
    ) -> Result<()> {
        let mut chunk: Vec<Transfer> = Vec::new();
        self.each(|transfer| {
            if chunk.last().is_some_and(|last| !same(last, transfer)) {
                sink(&chunk);
                chunk.clear();
            }
            chunk.push(*transfer);
        })?;
        if !chunk.is_empty() {
            sink(&chunk);
        }
        Ok(())
    }

    /// All of them in memory, however many they are.
    pub fn to_vec(&self) -> Result<Vec<Transfer>> {
        let mut all = Vec::new();
        self.each(|transfer| all.push(*transfer))?;
        Ok(all)
    }
}

impl Default for Transfers {
    fn default() -> Self {
        Self(Data::Memory(Vec::new()))
    }
}

impl From<Vec<Transfer>> for Transfers {
    fn from(mut transfers: Vec<Transfer>) -> Self {
        transfers.sort_unstable();
        Self(Data::Memory(transfers))
    }
}

impl PartialEq for Transfers {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && matches!((self.to_vec(), other.to_vec()), (Ok(a), Ok(b)) if a == b)
    }
}

impl Eq for Transfers {}

impl Fixed for Transfer {
    const BYTES: usize = 32;

    fn put(&self, bytes: &mut [u8]) {
        bytes[..4].copy_from_slice(&self.source_launch.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.source_cta.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.receiver_launch.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.receiver_cta.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.count.to_le_bytes());
    }

    fn get(bytes: &[u8]) -> Self {
        Self {
            source_launch: u32_at(bytes, 0),
            source_cta: u32_at(bytes, 4),
            receiver_launch: u32_at(bytes, 8),
            receiver_cta: u32_at(bytes, 12),
            bytes: u64_at(bytes, 16),
            count: u64_at(bytes, 24),
        }
    }
}

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
