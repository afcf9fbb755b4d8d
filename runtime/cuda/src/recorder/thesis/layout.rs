//! Structures that the host and the device share. Mirrors `device/context.h`.

use crate::cuda::CudaError;
use crate::cuda::memory::{device_words, words_of};
use std::slice::from_ref;
use std::sync::atomic::AtomicU64;

/// Version of the layout. Modules that were built for another version are rejected.
pub const CONTEXT_VERSION: u32 = 2;

/// The three indices of a bin, in records.
#[repr(C)]
#[derive(Default)]
pub struct Bin {
    /// Number of reserved positions; increased by the device.
    pub reserved: AtomicU64,
    pad0: [u64; 15],
    /// Number of completely written records; increased by the device.
    pub acknowledged: AtomicU64,
    pad1: [u64; 15],
    /// Positions below `released + bin_records` may be written. Stored by the host.
    pub released: AtomicU64,
    pad2: [u64; 15],
}

/// The structure to which a kernel's first trailing parameter points. Pointers are device addresses.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceContext {
    pub version: u32,
    pub bin_mask: u32,
    pub bin_records: u64,
    pub bin_records_log2: u32,
    pub pad: u32,
    pub bins: u64,
    pub records: u64,
    /// Address of the counter arrays, by module number (counting probe), or 0.
    pub site_counts: u64,
    /// Address of the selection of CTAs, or 0.
    pub selection: u64,
}

pub fn device_context(context: &TraceContext) -> Result<u64, CudaError> {
    // SAFETY: the structure is plain data without padding (`pad` is a field).
    device_words(unsafe { words_of(from_ref(context)) })
}

#[cfg(test)]
mod tests;
