//! The memory of a stream's bins, on the host and the device.

use super::bins::{Bins, Shape};
use super::layout::{CONTEXT_VERSION, TraceContext, device_context};
use crate::cuda::CudaError;
use crate::cuda::memory::Pinned;

pub struct Buffer {
    /// The device address of the [`TraceContext`].
    pub context: u64,
    /// Smaller than requested if memory is short.
    pub bins: Bins,
}

impl Buffer {
    /// Allocates a buffer, with smaller bins if memory is short.
    pub fn new(wanted: Shape, selection: u64) -> Result<Self, CudaError> {
        let mut shape = wanted;
        let memory = loop {
            match Pinned::new(shape.index_bytes() + shape.record_bytes()) {
                Ok(memory) => break memory,
                Err(_) if shape.bin_records > 1024 => shape.bin_records /= 2,
                Err(error) => return Err(error),
            }
        };
        let context = device_context(&TraceContext {
            version: CONTEXT_VERSION,
            bin_mask: (shape.bins - 1) as u32,
            bin_records: shape.bin_records as u64,
            bin_records_log2: shape.bin_records.trailing_zeros(),
            bins: memory.device,
            records: memory.device + shape.index_bytes() as u64,
            selection,
            ..TraceContext::default()
        })?;
        let first = memory.at::<u8>();
        // SAFETY: the memory contains both arrays, zeroed and page-aligned, and is never freed; the consumers exit
        // before a device reset destroys it.
        let bins = unsafe {
            let records = first.add(shape.index_bytes());
            Bins::new(shape, first.cast(), records.cast())
        };
        Ok(Buffer { context, bins })
    }
}
