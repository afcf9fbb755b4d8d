//! Memory of one stream's rings, on both sides.

use super::layout::{Header, Shape, VERSION};
use super::rings::{Ended, HostRing};
use super::{Flush, Settings};
use crate::ffi;
use crate::real;
use std::ffi::c_void;

/// A buffer, ready for its first launch.
pub struct Buffer {
    /// The device's address: the first trailing parameter.
    pub context: u64,
    /// What was allocated, which is less than asked for when memory is short.
    pub shape: Shape,
    pub rings: Vec<HostRing>,
    /// The device's count of launches that have ended.
    pub ended: Ended,
    pub flush: Flush,
}

impl Buffer {
    /// Allocates a buffer; takes less where memory is short.
    ///
    /// # Errors
    /// What the runtime says about the smallest size.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let mut shape = settings.shape;
        let device = loop {
            match device_memory(shape.device_bytes()) {
                Ok(device) => break device,
                Err(error) => shape = shape.smaller_on_device().ok_or(error)?,
            }
        };
        let (host, host_on_device) = host_memory(&mut shape)?;
        let ready = host_on_device;
        let header = Header {
            version: VERSION,
            host_slots: shape.host_slots as u64,
            data: host_on_device + shape.host_control_bytes() as u64,
            ready,
            selection: crate::selection::device_selection(crate::runtime::runtime().session)?,
            taken: ready + shape.taken_word() as u64 * 8,
            ended: ready + shape.ended_word() as u64 * 8,
            ..Header::default()
        };
        let mut control = vec![0u64; shape.device_control_bytes() / 8];
        // SAFETY: the header is plain data without padding, smaller than the control words.
        unsafe {
            std::ptr::copy_nonoverlapping(
                std::ptr::from_ref(&header).cast::<u64>(),
                control.as_mut_ptr(),
                size_of::<Header>() / 8,
            );
        }
        crate::driver::write(&crate::driver::driver()?, device as u64, &control)?;
        let context = device as u64;
        let flush = Flush::load(context, shape.parameter(), shape.rings)?;
        // SAFETY: the memory is as large as the shape asks for, its control words are zeroed, and it is never freed; a device
        // reset, which takes it away, is announced to the workers first.
        let (rings, ended) = unsafe { HostRing::all(shape, host as *const u8) };
        Ok(Buffer {
            context,
            shape,
            rings,
            ended,
            flush,
        })
    }
}

/// Page-locked memory for `shape`, which becomes smaller where memory is short: then it takes half of what it could have, because
/// what it leaves is all that the program itself can still get.
fn host_memory(shape: &mut Shape) -> Result<(usize, u64), String> {
    let mut short = false;
    loop {
        match page_locked(shape.host_bytes()) {
            Ok((host, _)) if short && shape.host_slots > 2 => {
                // SAFETY: the memory was allocated just now, and nobody else knows it.
                unsafe { real::free_host(host as *mut c_void) };
                short = false;
            }
            Ok(addresses) => return Ok(addresses),
            Err(_) if shape.host_slots > 2 => short = true,
            Err(error) => return Err(error),
        }
        shape.host_slots /= 2;
    }
}

fn device_memory(bytes: usize) -> Result<*mut c_void, String> {
    let mut device: *mut c_void = std::ptr::null_mut();
    // SAFETY: the pointer leads to a pointer.
    let error = unsafe { real::malloc(&mut device, bytes) };
    forget(error);
    real::check(
        error,
        &format!("allocate {bytes} bytes of device memory for the trace"),
    )?;
    Ok(device)
}

/// The program must not see a failure of ours as its last error.
fn forget(error: ffi::Error) {
    if error != ffi::SUCCESS {
        // SAFETY: no arguments.
        unsafe { real::get_last_error() };
    }
}

/// Page-locked memory that the device sees: the host's address and the device's.
fn page_locked(bytes: usize) -> Result<(usize, u64), String> {
    let (mut host, mut device) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the pointer leads to a pointer.
    let error = unsafe { real::host_alloc(&mut host, bytes, ffi::HOST_ALLOC_MAPPED) };
    forget(error);
    real::check(
        error,
        &format!("allocate {bytes} bytes of page-locked host memory for the trace"),
    )?;
    // SAFETY: as above; `host` comes from the call before.
    let error = unsafe { real::host_device_pointer(&mut device, host, 0) };
    real::check(error, "map host memory into the device")?;
    // SAFETY: `bytes` bytes were allocated, and nobody else knows them yet.
    unsafe { std::ptr::write_bytes(host.cast::<u8>(), 0, bytes) };
    Ok((host as usize, device as u64))
}
