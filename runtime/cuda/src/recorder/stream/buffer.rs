//! The memory of a stream's rings, on the host and the device.

use super::layout::{Header, Shape, VERSION};
use super::rings::{Ended, HostRing};
use super::{Flush, Settings};
use crate::cuda::CudaError;
use crate::cuda::memory::{self, Pinned, device_memory, words_of};
use std::slice::from_ref;

pub struct Buffer {
    /// The device address, which is the first trailing parameter.
    pub context: u64,
    /// Smaller than requested if memory is short.
    pub shape: Shape,
    pub rings: Vec<HostRing>,
    pub ended: Ended,
    pub flush: Flush,
}

impl Buffer {
    /// Allocates a buffer, or a smaller one if memory is short.
    pub fn new(settings: &Settings, selection: u64) -> Result<Self, CudaError> {
        let mut shape = settings.shape;
        let device = loop {
            match device_memory(shape.device_bytes(), "trace") {
                Ok(device) => break device,
                Err(error) => shape = shape.smaller_on_device().ok_or(error)?,
            }
        };
        let host = host_memory(&mut shape)?;
        let ready = host.device;
        let header = Header {
            version: VERSION,
            host_slots: shape.host_slots as u64,
            data: host.device + shape.host_control_bytes() as u64,
            ready,
            selection,
            taken: ready + shape.taken_word() as u64 * 8,
            ended: ready + shape.ended_word() as u64 * 8,
            ..Header::default()
        };
        // SAFETY: the header is plain data without padding.
        let mut control = unsafe { words_of(from_ref(&header)) }.to_vec();
        control.resize(shape.device_control_bytes() / 8, 0);
        memory::write(device, &control)?;
        let flush = Flush::load(device, shape.parameter(), shape.rings)?;
        // SAFETY: the memory is as large as the shape requires, its control words are zeroed, and it is never freed;
        // the workers exit before a device reset destroys it.
        let (rings, ended) = unsafe { HostRing::all(shape, host.at()) };
        Ok(Buffer {
            context: device,
            shape,
            rings,
            ended,
            flush,
        })
    }
}

/// Allocates page-locked memory for `shape`. If memory is short, reduces `shape` to half of what would fit, since the
/// program also needs page-locked memory.
fn host_memory(shape: &mut Shape) -> Result<Pinned, CudaError> {
    let mut short = false;
    loop {
        match Pinned::new(shape.host_bytes()) {
            Ok(memory) if short && shape.host_slots > 2 => {
                memory.free();
                short = false;
            }
            Ok(memory) => return Ok(memory),
            Err(_) if shape.host_slots > 2 => short = true,
            Err(error) => return Err(error),
        }
        shape.host_slots /= 2;
    }
}
