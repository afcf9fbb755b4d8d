//! Streams. Work is done when it is asked for, so a stream is only a name for an order of launches.

use crate::devices;
use crate::errors::{CudaError, CudaResult, check_sticky, cuda, put};
use crate::graphs;
use crate::handles::Handles;
use crate::runtime::session;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use superstep_trace::StreamId;

#[derive(Debug)]
pub struct Stream {
    flags: c_uint,
    priority: c_int,
    device: c_int,
}

static STREAMS: Handles<Stream> = Handles::new();

/// Priorities that a stream may have, the greatest last, as on current GPUs.
const PRIORITIES: (c_int, c_int) = (0, -5);
/// Handles up to this one name default streams.
const LAST_DEFAULT_HANDLE: usize = 2;

/// Checks a stream's handle; `None` for a default stream.
pub fn get(handle: *mut c_void) -> Result<Option<Arc<Stream>>, CudaError> {
    if handle as usize <= LAST_DEFAULT_HANDLE {
        Ok(None)
    } else {
        STREAMS.get(handle).map(Some)
    }
}

/// Number of a stream in the capture.
pub fn stream_id(handle: *mut c_void) -> Result<StreamId, CudaError> {
    let stream = get(handle)?;
    let name = stream.map_or_else(devices::default_stream, |_| handle as u64);
    Ok(session().stream_id(name))
}

pub fn create(place: *mut *mut c_void, flags: c_uint, priority: c_int) -> CudaResult {
    check_sticky()?;
    if place.is_null() || flags > 1 {
        return Err(CudaError::INVALID_VALUE);
    }
    put(
        place,
        STREAMS.insert(Stream {
            flags,
            priority: priority.clamp(PRIORITIES.1, PRIORITIES.0),
            device: devices::current(),
        }),
    )
}

fn destroy(handle: *mut c_void) -> CudaResult {
    STREAMS.remove(handle)?;
    session().stream_destroyed(handle as u64);
    check_sticky()
}

/// A host function that the program queues.
type HostFunction = Option<unsafe extern "C" fn(user_data: *mut c_void)>;
type Callback =
    Option<unsafe extern "C" fn(stream: *mut c_void, status: c_int, user_data: *mut c_void)>;

cuda! {
    fn [cudaStreamCreate](stream: *mut *mut c_void) {
        create(stream, 0, 0)
    }

    fn [cudaStreamCreateWithFlags](stream: *mut *mut c_void, flags: c_uint) {
        create(stream, flags, 0)
    }

    fn [cudaStreamCreateWithPriority](stream: *mut *mut c_void, flags: c_uint, priority: c_int) {
        create(stream, flags, priority)
    }

    fn [cudaStreamDestroy](stream: *mut c_void) {
        destroy(stream)
    }

    /// `cudaStreamSynchronize`: all work is done, and all memory is reachable from everywhere.
    fn [
        cudaStreamSynchronize cudaStreamSynchronize_ptsz cudaStreamQuery cudaStreamQuery_ptsz
        cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz
    ](stream: *mut c_void) {
        get(stream)?;
        graphs::refuse_if_capturing(stream)?;
        check_sticky()
    }

    /// `cudaStreamWaitEvent`: what the event stands for is done, or part of a capture.
    fn [cudaStreamWaitEvent cudaStreamWaitEvent_ptsz](stream: *mut c_void, event: *mut c_void, flags: c_uint) {
        get(stream)?;
        crate::events::wait(stream, event, flags)?;
        check_sticky()
    }

    fn [cudaStreamGetFlags cudaStreamGetFlags_ptsz](stream: *mut c_void, flags: *mut c_uint) {
        put(flags, get(stream)?.map_or(0, |stream| stream.flags))
    }

    fn [cudaStreamGetPriority cudaStreamGetPriority_ptsz](stream: *mut c_void, priority: *mut c_int) {
        put(priority, get(stream)?.map_or(0, |stream| stream.priority))
    }

    fn [cudaStreamGetId cudaStreamGetId_ptsz](stream: *mut c_void, id: *mut u64) {
        put(id, u64::from(stream_id(stream)?.0))
    }

    fn [cudaStreamGetDevice cudaStreamGetDevice_ptsz](stream: *mut c_void, device: *mut c_int) {
        put(device, get(stream)?.map_or_else(devices::current, |stream| stream.device))
    }

    /// `cudaStreamSetAttribute`: what may stay in which cache, and how to wait; there is nothing to choose.
    fn [cudaStreamSetAttribute cudaStreamSetAttribute_ptsz cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz
        cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz]() {
        check_sticky()
    }

    fn [cudaDeviceGetStreamPriorityRange](least: *mut c_int, greatest: *mut c_int) {
        if !least.is_null() {
            put(least, PRIORITIES.0)?;
        }
        if !greatest.is_null() {
            put(greatest, PRIORITIES.1)?;
        }
        Ok(())
    }

    /// `cudaStreamAddCallback`: everything before it is done, so the function is called at once.
    fn [cudaStreamAddCallback cudaStreamAddCallback_ptsz](stream: *mut c_void, callback: Callback, user_data: *mut c_void) {
        get(stream)?;
        let callback = callback.ok_or(CudaError::INVALID_VALUE)?;
        let status = check_sticky().err().map_or(0, |error| error.0);
        // SAFETY: the program asks for this call with these arguments.
        unsafe { callback(stream, status, user_data) };
        Ok(())
    }

    /// `cudaLaunchHostFunc`: everything before it is done, so the function is called at once.
    fn [cudaLaunchHostFunc cudaLaunchHostFunc_ptsz](stream: *mut c_void, function: HostFunction, user_data: *mut c_void) {
        get(stream)?;
        check_sticky()?;
        graphs::host_function(stream, function, user_data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_made_and_destroyed() {
        let mut stream = std::ptr::null_mut();
        assert_eq!(create(&mut stream, 0, -9), Ok(()));
        assert_eq!(get(stream).unwrap().unwrap().priority, -5);
        assert_eq!(destroy(stream), Ok(()));
        assert_eq!(destroy(stream), Err(CudaError::INVALID_RESOURCE_HANDLE));
        assert_eq!(create(&mut stream, 7, 0), Err(CudaError::INVALID_VALUE));
        assert_eq!(stream_id(std::ptr::null_mut()), Ok(StreamId(0)));
    }
}
