//! Device management: one device, number 0.

use crate::errors::{CudaError, CudaResult, check_sticky, clear_sticky, cuda, put};
use crate::properties::{DeviceProperties, attribute};
use crate::{device_heap, memory};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};

/// What `cudaRuntimeGetVersion` and `cudaDriverGetVersion` say: CUDA 12.9.
const CUDA_VERSION: c_int = 12090;
const PCI_BUS_ID: &[u8] = b"0000:00:00.0\0";
/// `cudaLimitMallocHeapSize`.
const LIMIT_MALLOC_HEAP: c_int = 2;
const LIMITS: std::ops::RangeInclusive<c_int> = 0..=6;

/// Limits that the program set, by number.
static LIMITS_SET: Mutex<BTreeMap<c_int, usize>> = Mutex::new(BTreeMap::new());

fn check_device(device: c_int) -> CudaResult {
    if device == 0 {
        Ok(())
    } else {
        Err(CudaError::INVALID_DEVICE)
    }
}

fn set_limit(limit: c_int, value: usize) -> CudaResult {
    check_sticky()?;
    if !LIMITS.contains(&limit) {
        return Err(CudaError::INVALID_VALUE);
    }
    if limit == LIMIT_MALLOC_HEAP {
        device_heap::set_limit(value as u64);
    }
    LIMITS_SET.lock().insert(limit, value);
    Ok(())
}

fn limit(limit: c_int) -> Result<usize, CudaError> {
    let default = match limit {
        0 => 1 << 10,
        1 => 1 << 20,
        LIMIT_MALLOC_HEAP => device_heap::DEFAULT_HEAP_BYTES as usize,
        3 => 2,
        4 => 2048,
        5 => 128,
        6 => 0,
        _ => return Err(CudaError::INVALID_VALUE),
    };
    Ok(LIMITS_SET.lock().get(&limit).copied().unwrap_or(default))
}

cuda! {
    // One device, number 0, without flags; no choice of caches.
    fn [cudaGetDevice cudaChooseDevice cudaGetDeviceFlags cudaDeviceGetCacheConfig cudaThreadGetCacheConfig](answer: *mut c_int) {
        put(answer, 0)
    }

    // Also: banks of 4 bytes.
    fn [cudaGetDeviceCount cudaDeviceGetSharedMemConfig](answer: *mut c_int) {
        put(answer, 1)
    }

    fn [cudaRuntimeGetVersion cudaDriverGetVersion](version: *mut c_int) {
        put(version, CUDA_VERSION)
    }

    // Nothing to do: all work is done, all memory is near and goes back at once, whatever the flags; there are no caches and no banks.
    fn [
        cudaDeviceSynchronize cudaThreadSynchronize cudaSetDeviceFlags cudaDeviceSetCacheConfig cudaThreadSetCacheConfig
        cudaDeviceSetSharedMemConfig cudaDeviceFlushGPUDirectRDMAWrites cudaCtxResetPersistingL2Cache cudaMemPoolSetAttribute
        cudaMemPoolTrimTo cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz cudaMemAdvise
    ]() {
        check_sticky()
    }

    fn [cudaSetValidDevices cudaProfilerStart cudaProfilerStop]() {
        Ok(())
    }

    fn [cudaSetDevice](device: c_int) {
        check_device(device)?;
        check_sticky()
    }

    fn [cudaInitDevice](device: c_int) {
        check_device(device)
    }

    /// `cudaGetDeviceProperties` with the structure of CUDA 12.
    fn [cudaGetDeviceProperties_v2 cudaGetDeviceProperties](properties: *mut DeviceProperties, device: c_int) {
        check_device(device)?;
        put(properties, DeviceProperties::new())
    }

    fn [cudaDeviceGetAttribute](value: *mut c_int, number: c_int, device: c_int) {
        check_device(device)?;
        put(value, attribute(number).ok_or(CudaError::INVALID_VALUE)?)
    }

    /// `cudaDeviceReset`: frees everything and forgets an error that sticks.
    fn [cudaDeviceReset cudaThreadExit]() {
        clear_sticky();
        memory::reset();
        Ok(())
    }

    fn [cudaDeviceSetLimit cudaThreadSetLimit](number: c_int, value: usize) {
        set_limit(number, value)
    }

    fn [cudaDeviceGetLimit cudaThreadGetLimit](value: *mut usize, number: c_int) {
        put(value, limit(number)?)
    }

    fn [cudaDeviceGetPCIBusId](text: *mut c_char, bytes: c_int, device: c_int) {
        check_device(device)?;
        if text.is_null() || usize::try_from(bytes).map_or(true, |bytes| bytes < PCI_BUS_ID.len()) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program gives room for `bytes`, which is enough.
        unsafe { text.cast::<u8>().copy_from_nonoverlapping(PCI_BUS_ID.as_ptr(), PCI_BUS_ID.len()) };
        Ok(())
    }

    fn [cudaDeviceGetByPCIBusId](device: *mut c_int, text: *const c_char) {
        if text.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program passes a text that ends with 0.
        let text = unsafe { std::ffi::CStr::from_ptr(text) };
        if text.to_bytes_with_nul() != PCI_BUS_ID {
            return Err(CudaError::INVALID_DEVICE);
        }
        put(device, 0)
    }

    /// `cudaDeviceCanAccessPeer`: there is no other device.
    fn [cudaDeviceCanAccessPeer](can: *mut c_int, device: c_int, peer: c_int) {
        check_device(device)?;
        check_device(peer)?;
        put(can, 0)
    }

    fn [cudaDeviceEnablePeerAccess cudaDeviceDisablePeerAccess]() {
        Err(CudaError::INVALID_DEVICE)
    }

    /// `cudaDeviceGetDefaultMemPool`: a handle that only `cudaMemPoolSetAttribute` and `cudaMemPoolTrimTo` take.
    fn [cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool](pool: *mut *mut c_void, device: c_int) {
        check_device(device)?;
        put(pool, std::ptr::dangling_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_device() {
        assert_eq!(check_device(0), Ok(()));
        assert_eq!(check_device(1), Err(CudaError::INVALID_DEVICE));
        let mut name = [0 as c_char; 20];
        // SAFETY: the array has room for its length.
        unsafe {
            assert_eq!(cudaDeviceGetPCIBusId(name.as_mut_ptr(), 20, 0), 0);
            assert_eq!(cudaDeviceGetPCIBusId(name.as_mut_ptr(), 3, 0), 1);
        }
    }

    #[test]
    fn limits_are_kept() {
        assert_eq!(limit(1), Ok(1 << 20));
        assert_eq!(set_limit(1, 12345), Ok(()));
        assert_eq!(limit(1), Ok(12345));
        assert_eq!(limit(7), Err(CudaError::INVALID_VALUE));
        assert_eq!(set_limit(-1, 0), Err(CudaError::INVALID_VALUE));
    }
}
