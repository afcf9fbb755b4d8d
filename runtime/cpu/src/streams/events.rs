//! Events, which are timestamps.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda, put};
use crate::handles::Handles;
use crate::streams::graphs::{self, Capture};
use cudarc::runtime::sys::cudaEventDisableTiming;
use parking_lot::Mutex;
use std::ffi::{c_uint, c_void};
use std::time::Instant;

const ALL_FLAGS: c_uint = 7;

struct Event {
    has_time: bool,
    recorded: Mutex<Option<Instant>>,
    /// State of the capture in which the event was last recorded, at that time.
    captured: Mutex<Option<Capture>>,
}

static EVENTS: Handles<Event> = Handles::new();

pub fn check(handle: *const c_void) -> CudaResult {
    EVENTS.get(handle as usize).map(drop)
}

fn create(place: *mut *mut c_void, flags: c_uint) -> CudaResult {
    check_sticky()?;
    if place.is_null() || flags & !ALL_FLAGS != 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    let event = Event {
        has_time: flags & cudaEventDisableTiming == 0,
        recorded: Mutex::new(None),
        captured: Mutex::new(None),
    };
    put(place, EVENTS.insert(event) as *mut c_void)
}

pub fn record(event: *mut c_void, stream: *mut c_void) -> CudaResult {
    let event = EVENTS.get(event as usize)?;
    crate::streams::get(stream)?;
    check_sticky()?;
    let captured = graphs::capture_of(stream);
    if captured.is_none() {
        *event.recorded.lock() = Some(Instant::now());
    }
    *event.captured.lock() = captured;
    Ok(())
}

/// `cudaEventRecordExternal` and `cudaEventWaitExternal`: in a capture, the event becomes a node.
const EXTERNAL: c_uint = 1;

pub fn wait(stream: *mut c_void, handle: *mut c_void, flags: c_uint) -> CudaResult {
    let event = EVENTS.get(handle as usize)?;
    if flags & EXTERNAL != 0 {
        return graphs::external(stream, handle, true).map(drop);
    }
    let captured = event.captured.lock().clone();
    // If the capture has ended, there is nothing to wait for.
    if let Some(captured) = captured {
        graphs::join(stream, captured);
    }
    Ok(())
}

fn elapsed(start: *mut c_void, end: *mut c_void) -> Result<f32, CudaError> {
    let (start, end) = (EVENTS.get(start as usize)?, EVENTS.get(end as usize)?);
    check_sticky()?;
    if !start.has_time || !end.has_time {
        return Err(CudaError::INVALID_RESOURCE_HANDLE);
    }
    // Separate statements release each lock immediately, since both handles may name the same event.
    let start = *start.recorded.lock();
    let end = *end.recorded.lock();
    match (start, end) {
        (Some(start), Some(end)) if end >= start => Ok((end - start).as_secs_f32() * 1e3),
        (Some(start), Some(end)) => Ok(-((start - end).as_secs_f32() * 1e3)),
        _ => Err(CudaError::INVALID_RESOURCE_HANDLE),
    }
}

cuda! {
    fn [cudaEventCreate](event: *mut *mut c_void) {
        create(event, 0)
    }

    fn [cudaEventCreateWithFlags](event: *mut *mut c_void, flags: c_uint) {
        create(event, flags)
    }

    fn [cudaEventDestroy](event: *mut c_void) {
        EVENTS.remove(event as usize).map(drop)
    }

    fn [cudaEventRecord cudaEventRecord_ptsz](event: *mut c_void, stream: *mut c_void) {
        record(event, stream)
    }

    fn [cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz](event: *mut c_void, stream: *mut c_void, flags: c_uint) {
        check(event)?;
        if flags & EXTERNAL != 0 && graphs::external(stream, event, false)? {
            return Ok(());
        }
        record(event, stream)
    }

    // `cudaEventSynchronize`: all work is already done.
    fn [cudaEventSynchronize cudaEventQuery](event: *mut c_void) {
        check(event)?;
        check_sticky()
    }

    fn [cudaEventElapsedTime cudaEventElapsedTime_v2](milliseconds: *mut f32, start: *mut c_void, end: *mut c_void) {
        put(milliseconds, elapsed(start, end)?)
    }
}

#[cfg(test)]
mod tests;
