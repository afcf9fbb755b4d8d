//! Structures that host and device share: the mirror of `device/context.h`.

use crate::cuda::CudaError;
use crate::cuda::memory::{device_words, words_of};
use std::sync::atomic::AtomicU64;

/// Version of the layout. Modules built for another one are refused.
pub const CONTEXT_VERSION: u32 = 2;

/// The three indices of one bin, in records.
#[repr(C)]
#[derive(Default)]
pub struct Bin {
    /// Positions handed out; the device adds.
    pub reserved: AtomicU64,
    pad0: [u64; 15],
    /// Records completely written; the device adds.
    pub acknowledged: AtomicU64,
    pad1: [u64; 15],
    /// Positions below `released + bin_records` may be written; the host stores.
    pub released: AtomicU64,
    pad2: [u64; 15],
}

/// Target of a kernel's first trailing parameter. Pointers are device addresses.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceContext {
    pub version: u32,
    pub bin_mask: u32,
    pub bin_records: u64,
    /// Its logarithm to base 2.
    pub bin_records_log2: u32,
    pub pad: u32,
    pub bins: u64,
    pub records: u64,
    /// Counter arrays by module number (counting probe), or 0.
    pub site_counts: u64,
    /// The selection of CTAs, or 0.
    pub selection: u64,
}

pub fn device_context(context: &TraceContext) -> Result<u64, CudaError> {
    // SAFETY: the structure is plain data without padding (`pad` is a field).
    device_words(unsafe { words_of(context) })
}

#[cfg(test)]
mod tests;
