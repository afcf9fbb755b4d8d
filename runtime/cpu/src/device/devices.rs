//! A configurable number of identical devices. They share workers, an address space and `__device__` variables;
//! streams and allocations belong to the device that was current when they were created.

use crate::errors::{CudaError, CudaResult, check_sticky, cuda, fail_if, put};
use crate::runtime::session;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint, c_void};

thread_local! {
    static CURRENT: Cell<c_int> = const { Cell::new(0) };
}

/// Pairs of a device and a peer whose memory the device may access.
static PEERS: Mutex<BTreeSet<(c_int, c_int)>> = Mutex::new(BTreeSet::new());

pub fn current() -> c_int {
    CURRENT.get()
}

pub fn count() -> c_int {
    session()
        .config()
        .cpu_devices
        .map_or(1, |count| count as c_int)
}

pub fn check(device: c_int) -> CudaResult {
    let exists = (0..count()).contains(&device);
    fail_if(!exists, CudaError::INVALID_DEVICE)
}

cuda! {
    fn [cudaGetDevice](device: *mut c_int) {
        put(device, current())
    }

    fn [cudaGetDeviceCount](count: *mut c_int) {
        put(count, self::count())
    }

    fn [cudaSetDevice](device: c_int) {
        check(device)?;
        CURRENT.set(device);
        check_sticky()
    }

    fn [cudaInitDevice](device: c_int, _flags: c_uint, _is_set: c_uint) {
        check(device)
    }

    fn [cudaDeviceCanAccessPeer](can: *mut c_int, device: c_int, peer: c_int) {
        check(device)?;
        check(peer)?;
        put(can, c_int::from(device != peer))
    }

    fn [cudaDeviceEnablePeerAccess](peer: c_int, _flags: c_uint) {
        check(peer)?;
        fail_if(peer == current(), CudaError::INVALID_DEVICE)?;
        let is_new = PEERS.lock().insert((current(), peer));
        fail_if(!is_new, CudaError::PEER_ACCESS_ALREADY_ENABLED)
    }

    fn [cudaDeviceDisablePeerAccess](peer: c_int) {
        check(peer)?;
        let was_enabled = PEERS.lock().remove(&(current(), peer));
        fail_if(!was_enabled, CudaError::PEER_ACCESS_NOT_ENABLED)
    }

    // `cudaDeviceGetP2PAttribute`: all peers are equal, and their arrays are inaccessible.
    fn [cudaDeviceGetP2PAttribute](value: *mut c_int, number: c_int, from: c_int, to: c_int) {
        check(from)?;
        check(to)?;
        fail_if(from == to, CudaError::INVALID_DEVICE)?;
        match number {
            1 | 4 => put(value, 0),
            2 | 3 => put(value, 1),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }
}

cuda! { in_stream Copy:
    fn [cudaMemcpyPeer] [cudaMemcpyPeerAsync](
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize
    ) |call, stream| {
        check(to_device)?;
        check(from_device)?;
        crate::memory::copies::copy(call, to, from, bytes, 3, stream)
    }
}

#[cfg(test)]
mod tests;
