//! Device management: one device, number 0.

use crate::errors::{CudaError, CudaResult, check_sticky, clear_sticky, cuda, put};
use crate::properties::{DeviceProperties, attribute};
use crate::{device_heap, memory};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_uint, c_void};

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

fn synchronize() -> CudaResult {
    check_sticky()
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

fn reset() -> CudaResult {
    clear_sticky();
    memory::reset();
    Ok(())
}

cuda! {
    fn cudaGetDeviceCount(count: *mut c_int) {
        put(count, 1)
    }

    fn cudaGetDevice(device: *mut c_int) {
        put(device, 0)
    }

    fn cudaSetDevice(device: c_int) {
        check_device(device)?;
        check_sticky()
    }

    fn cudaInitDevice(device: c_int, _device_flags: c_uint, _flags: c_uint) {
        check_device(device)
    }

    fn cudaSetValidDevices(_devices: *mut c_int, _count: c_int) {
        Ok(())
    }

    fn cudaChooseDevice(device: *mut c_int, _properties: *const DeviceProperties) {
        put(device, 0)
    }

    fn cudaSetDeviceFlags(_flags: c_uint) {
        check_sticky()
    }

    fn cudaGetDeviceFlags(flags: *mut c_uint) {
        put(flags, 0)
    }

    /// `cudaGetDeviceProperties` with the structure of CUDA 12.
    fn cudaGetDeviceProperties_v2(properties: *mut DeviceProperties, device: c_int) also cudaGetDeviceProperties {
        check_device(device)?;
        put(properties, DeviceProperties::new())
    }

    fn cudaDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) {
        check_device(device)?;
        put(value, attribute(number).ok_or(CudaError::INVALID_VALUE)?)
    }

    /// `cudaDeviceSynchronize`: all work is done.
    fn cudaDeviceSynchronize() {
        synchronize()
    }

    /// `cudaThreadSynchronize`, an old name.
    fn cudaThreadSynchronize() {
        synchronize()
    }

    /// `cudaDeviceReset`: frees everything and forgets an error that sticks.
    fn cudaDeviceReset() {
        reset()
    }

    /// `cudaThreadExit`, an old name.
    fn cudaThreadExit() {
        reset()
    }

    fn cudaDeviceSetLimit(number: c_int, value: usize) {
        set_limit(number, value)
    }

    fn cudaDeviceGetLimit(value: *mut usize, number: c_int) {
        put(value, limit(number)?)
    }

    /// `cudaThreadSetLimit`, an old name.
    fn cudaThreadSetLimit(number: c_int, value: usize) {
        set_limit(number, value)
    }

    /// `cudaThreadGetLimit`, an old name.
    fn cudaThreadGetLimit(value: *mut usize, number: c_int) {
        put(value, limit(number)?)
    }

    /// `cudaDeviceSetCacheConfig`: there is no choice.
    fn cudaDeviceSetCacheConfig(_configuration: c_int) {
        check_sticky()
    }

    fn cudaDeviceGetCacheConfig(configuration: *mut c_int) {
        put(configuration, 0)
    }

    /// `cudaThreadSetCacheConfig`, an old name.
    fn cudaThreadSetCacheConfig(_configuration: c_int) {
        check_sticky()
    }

    /// `cudaThreadGetCacheConfig`, an old name.
    fn cudaThreadGetCacheConfig(configuration: *mut c_int) {
        put(configuration, 0)
    }

    /// `cudaDeviceSetSharedMemConfig`: there are no banks.
    fn cudaDeviceSetSharedMemConfig(_configuration: c_int) {
        check_sticky()
    }

    /// `cudaDeviceGetSharedMemConfig`: banks of 4 bytes.
    fn cudaDeviceGetSharedMemConfig(configuration: *mut c_int) {
        put(configuration, 1)
    }

    fn cudaRuntimeGetVersion(version: *mut c_int) {
        put(version, CUDA_VERSION)
    }

    fn cudaDriverGetVersion(version: *mut c_int) {
        put(version, CUDA_VERSION)
    }

    fn cudaDeviceGetPCIBusId(text: *mut c_char, bytes: c_int, device: c_int) {
        check_device(device)?;
        if text.is_null() || usize::try_from(bytes).map_or(true, |bytes| bytes < PCI_BUS_ID.len()) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program gives room for `bytes`, which is enough.
        unsafe { text.cast::<u8>().copy_from_nonoverlapping(PCI_BUS_ID.as_ptr(), PCI_BUS_ID.len()) };
        Ok(())
    }

    fn cudaDeviceGetByPCIBusId(device: *mut c_int, text: *const c_char) {
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
    fn cudaDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        check_device(device)?;
        check_device(peer)?;
        put(can, 0)
    }

    /// `cudaDeviceEnablePeerAccess`: there is no other device.
    fn cudaDeviceEnablePeerAccess(_peer: c_int, _flags: c_uint) {
        Err(CudaError::INVALID_DEVICE)
    }

    /// `cudaDeviceDisablePeerAccess`: there is no other device.
    fn cudaDeviceDisablePeerAccess(_peer: c_int) {
        Err(CudaError::INVALID_DEVICE)
    }

    /// `cudaDeviceFlushGPUDirectRDMAWrites`: nobody else writes.
    fn cudaDeviceFlushGPUDirectRDMAWrites(_target: c_int, _scope: c_int) {
        check_sticky()
    }

    /// `cudaCtxResetPersistingL2Cache`: there is none.
    fn cudaCtxResetPersistingL2Cache() {
        check_sticky()
    }

    /// `cudaDeviceGetDefaultMemPool`: a handle that only `cudaMemPoolSetAttribute` and `cudaMemPoolTrimTo` take.
    fn cudaDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int) {
        check_device(device)?;
        put(pool, std::ptr::dangling_mut())
    }

    fn cudaDeviceGetMemPool(pool: *mut *mut c_void, device: c_int) {
        check_device(device)?;
        put(pool, std::ptr::dangling_mut())
    }

    /// `cudaMemPoolSetAttribute`: memory goes back at once, whatever the attributes.
    fn cudaMemPoolSetAttribute(_pool: *mut c_void, _attribute: c_int, _value: *mut c_void) {
        check_sticky()
    }

    /// `cudaMemPoolTrimTo`: there is nothing to trim.
    fn cudaMemPoolTrimTo(_pool: *mut c_void, _bytes: usize) {
        check_sticky()
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
