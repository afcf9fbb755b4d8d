//! Memory of one stream's rings, on both sides.

use super::layout::{Header, Shape, VERSION};
use super::rings::{Ended, HostRing};
use super::{Flush, Settings};
use crate::cuda::memory::{Pinned, device_memory, words_of};
use crate::cuda::{CudaError, driver};

pub struct Buffer {
    /// The device's address: the first trailing parameter.
    pub context: u64,
    /// Smaller than requested when memory is short.
    pub shape: Shape,
    pub rings: Vec<HostRing>,
    pub ended: Ended,
    pub flush: Flush,
}

impl Buffer {
    /// Allocates a buffer, a smaller one where memory is short.
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
        let mut control = unsafe { words_of(&header) }.to_vec();
        control.resize(shape.device_control_bytes() / 8, 0);
        driver::write(device, &control)?;
        let flush = Flush::load(device, shape.parameter(), shape.rings)?;
        // SAFETY: the memory is as large as the shape asks for, its control words are zeroed, and it is never freed; a device
        // reset, which takes it away, is announced to the workers first.
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

/// Page-locked memory for `shape`, which is reduced where memory is short: to half of what there is, since the program needs some, too.
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
