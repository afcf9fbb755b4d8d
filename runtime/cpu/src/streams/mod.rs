//! Streams. Work is synchronous, so a stream only labels its launches.
//!
//! Programs with a per-thread default stream call the functions that end in `_ptds` or `_ptsz`.

pub mod events;
pub mod graphs;

use crate::device::devices;
use crate::errors::{CudaError, CudaResult, check_sticky, cuda, fail_if, put, put_if_wanted};
use crate::handles::Handles;
use crate::runtime::session;
use cudarc::runtime::sys::{cudaHostFn_t, cudaHostNodeParams};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use superstep_runtime_core::thread_number;
use superstep_trace::StreamId;

#[derive(Debug)]
pub struct Stream {
    flags: c_uint,
    priority: c_int,
    device: c_int,
}

static STREAMS: Handles<Stream> = Handles::new();

/// Least and greatest priority of a stream, as on current GPUs.
const PRIORITIES: (c_int, c_int) = (0, -5);
/// `cudaStreamPerThread`: the calling host thread's default stream. 0 and `cudaStreamLegacy` (1) name the legacy
/// default stream.
const PER_THREAD: *mut c_void = std::ptr::without_provenance_mut(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// The default stream of a device that all host threads share.
    Legacy(c_int),
    /// The default stream of a device that belongs to the host thread with this number.
    PerThread(c_int, u64),
    Created(usize),
}

/// Returns the stream that `handle` names for the calling host thread. The stream does not have to exist.
pub fn named(handle: *mut c_void) -> Named {
    let device = devices::current();
    match handle {
        PER_THREAD => Named::PerThread(device, thread_number()),
        handle if handle < PER_THREAD => Named::Legacy(device),
        handle => Named::Created(handle as usize),
    }
}

/// Returns whether a function is a variant for programs with a per-thread default stream.
pub const fn is_per_thread(function: &str) -> bool {
    matches!(
        function.as_bytes(),
        [.., b'_', b'p', b't', b's', b'z'] | [.., b'_', b'p', b't', b'd', b's']
    )
}

pub const fn default_of(function: &str) -> *mut c_void {
    if is_per_thread(function) {
        PER_THREAD
    } else {
        std::ptr::null_mut()
    }
}

/// Returns `handle`, or the default stream of `function` for a null handle.
pub fn resolve_stream(function: &str, handle: *mut c_void) -> *mut c_void {
    if handle.is_null() {
        default_of(function)
    } else {
        handle
    }
}

/// Returns whether [`cuda`](crate::errors::cuda) can define `function` with these parameters and a body that does not
/// receive its name: variants for a per-thread stream must have a stream parameter, or no parameters at all.
pub const fn can_have_name(function: &str, mut parameters: &[&str]) -> bool {
    let is_valid = !is_per_thread(function) || parameters.is_empty();
    while let [parameter, rest @ ..] = parameters {
        if matches!(parameter.as_bytes(), b"stream") {
            return true;
        }
        parameters = rest;
    }
    is_valid
}

/// Looks up a stream's handle; returns `None` for a default stream.
pub fn get(handle: *mut c_void) -> Result<Option<Arc<Stream>>, CudaError> {
    match named(handle) {
        Named::Created(handle) => STREAMS.get(handle).map(Some),
        _ => Ok(None),
    }
}

pub fn stream_id(handle: *mut c_void) -> Result<StreamId, CudaError> {
    get(handle)?;
    let nonzero = |device| (device != 0).then_some(device);
    Ok(match named(handle) {
        Named::Legacy(device) => session().default_stream(nonzero(device), false),
        Named::PerThread(device, _) => session().default_stream(nonzero(device), true),
        Named::Created(handle) => session().stream_id(handle as u64),
    })
}

/// Returns the result of `cudaStreamGetId`, which is unique in a process.
fn unique_id(handle: *mut c_void) -> Result<u64, CudaError> {
    let device_bits = |device: c_int| (device as u64) << 32;
    Ok(match named(handle) {
        Named::Legacy(device) => 1 << 62 | device_bits(device),
        Named::PerThread(device, thread) => 1 << 63 | device_bits(device) | thread,
        Named::Created(_) => u64::from(stream_id(handle)?.0),
    })
}

pub fn create(place: *mut *mut c_void, flags: c_uint, priority: c_int) -> CudaResult {
    check_sticky()?;
    fail_if(place.is_null() || flags > 1, CudaError::INVALID_VALUE)?;
    let stream = Stream {
        flags,
        priority: priority.clamp(PRIORITIES.1, PRIORITIES.0),
        device: devices::current(),
    };
    put(place, STREAMS.insert(stream) as *mut c_void)
}

type Callback =
    Option<unsafe extern "C" fn(stream: *mut c_void, status: c_int, user_data: *mut c_void)>;

cuda! {
    fn [cudaStreamCreate](place: *mut *mut c_void) {
        create(place, 0, 0)
    }

    fn [cudaStreamCreateWithFlags](place: *mut *mut c_void, flags: c_uint) {
        create(place, flags, 0)
    }

    fn [cudaStreamCreateWithPriority](place: *mut *mut c_void, flags: c_uint, priority: c_int) {
        create(place, flags, priority)
    }

    fn [cudaStreamDestroy](stream: *mut c_void) {
        STREAMS.remove(stream as usize)?;
        session().stream_destroyed(stream as u64);
        check_sticky()
    }

    // `cudaStreamSynchronize`: all work is already done, and all memory is accessible from every device.
    fn [
        cudaStreamSynchronize cudaStreamSynchronize_ptsz cudaStreamQuery cudaStreamQuery_ptsz
        cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz
    ](stream: *mut c_void) {
        get(stream)?;
        graphs::refuse_if_capturing(stream)?;
        check_sticky()
    }

    // `cudaStreamWaitEvent`: the event has already happened, or is part of a capture.
    fn [cudaStreamWaitEvent cudaStreamWaitEvent_ptsz](stream: *mut c_void, event: *mut c_void, flags: c_uint) {
        get(stream)?;
        crate::streams::events::wait(stream, event, flags)?;
        check_sticky()
    }

    fn [cudaStreamGetFlags cudaStreamGetFlags_ptsz](stream: *mut c_void, flags: *mut c_uint) {
        put(flags, get(stream)?.map_or(0, |stream| stream.flags))
    }

    fn [cudaStreamGetPriority cudaStreamGetPriority_ptsz](stream: *mut c_void, priority: *mut c_int) {
        put(priority, get(stream)?.map_or(0, |stream| stream.priority))
    }

    fn [cudaStreamGetId cudaStreamGetId_ptsz](stream: *mut c_void, id: *mut u64) {
        put(id, unique_id(stream)?)
    }

    fn [cudaStreamGetDevice cudaStreamGetDevice_ptsz](stream: *mut c_void, device: *mut c_int) {
        put(device, get(stream)?.map_or_else(devices::current, |stream| stream.device))
    }

    // `cudaStreamSetAttribute`: has no effect.
    fn [cudaStreamSetAttribute cudaStreamSetAttribute_ptsz cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz
        cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz]() {
        check_sticky()
    }

    fn [cudaDeviceGetStreamPriorityRange](least: *mut c_int, greatest: *mut c_int) {
        put_if_wanted(least, PRIORITIES.0)?;
        put_if_wanted(greatest, PRIORITIES.1)
    }

    // `cudaStreamAddCallback`: calls the function immediately, since all earlier work is done.
    fn [cudaStreamAddCallback cudaStreamAddCallback_ptsz](stream: *mut c_void, callback: Callback, user_data: *mut c_void) {
        get(stream)?;
        let callback = callback.ok_or(CudaError::INVALID_VALUE)?;
        let status = check_sticky().err().map_or(0, |error| error.0);
        // SAFETY: the program requested this call with these arguments.
        unsafe { callback(stream, status, user_data) };
        Ok(())
    }

    // `cudaLaunchHostFunc`: calls the function immediately, since all earlier work is done.
    fn [cudaLaunchHostFunc cudaLaunchHostFunc_ptsz](stream: *mut c_void, fn_: cudaHostFn_t, userData: *mut c_void) {
        get(stream)?;
        check_sticky()?;
        graphs::host_function(stream, cudaHostNodeParams { fn_, userData })
    }
}

#[cfg(test)]
mod tests;
