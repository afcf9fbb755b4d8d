//! Device management common to all devices.

pub mod devices;
pub mod functions;
pub mod properties;

use crate::device::properties::attribute;
use crate::device_calls::device_heap;
use crate::errors::{CudaError, CudaResult, check_not_null, check_sticky, clear_sticky, cuda, put};
use crate::memory;
use cudarc::runtime::sys::cudaDeviceProp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};

/// CUDA 12.9.
const CUDA_VERSION: c_int = 12090;
/// Size of a bus ID: domain, bus, device and function, with a terminating 0.
const PCI_BUS_ID_BYTES: usize = 13;

/// Returns the PCI bus ID of a device; the bus number is the device number.
fn pci_bus_id(device: c_int) -> CString {
    CString::new(format!("0000:{device:02x}:00.0")).unwrap_or_default()
}

/// `cudaLimitStackSize`: stack size per thread, in bytes.
const LIMIT_STACK: c_int = 0;
/// Multiple to which a GPU rounds up the stack size.
const STACK_UNIT_BYTES: usize = 16;
/// `cudaLimitMallocHeapSize`.
const LIMIT_MALLOC_HEAP: c_int = 2;

static LIMITS_SET: Mutex<BTreeMap<c_int, usize>> = Mutex::new(BTreeMap::new());

fn set_limit(limit: c_int, value: usize) -> CudaResult {
    check_sticky()?;
    // Fails if there is no such limit.
    self::limit(limit)?;
    if limit == LIMIT_MALLOC_HEAP {
        device_heap::set_limit(value as u64);
    }
    let value = match limit {
        LIMIT_STACK => value
            .checked_next_multiple_of(STACK_UNIT_BYTES)
            .ok_or(CudaError::INVALID_VALUE)?,
        _ => value,
    };
    LIMITS_SET.lock().insert(limit, value);
    Ok(())
}

pub fn stack_limit_bytes() -> usize {
    limit(LIMIT_STACK).unwrap_or_default()
}

fn limit(limit: c_int) -> Result<usize, CudaError> {
    let default = match limit {
        LIMIT_STACK => 1 << 10,
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
    // All return 0: the first device, no flags, no cache preference.
    fn [cudaChooseDevice cudaGetDeviceFlags cudaDeviceGetCacheConfig cudaThreadGetCacheConfig](answer: *mut c_int) {
        put(answer, 0)
    }

    // Banks are 4 bytes wide.
    fn [cudaDeviceGetSharedMemConfig](answer: *mut c_int) {
        put(answer, 1)
    }

    fn [cudaRuntimeGetVersion cudaDriverGetVersion](version: *mut c_int) {
        put(version, CUDA_VERSION)
    }

    // No effect: calls are synchronous, and neither caches nor banks exist.
    fn [
        cudaDeviceSynchronize cudaThreadSynchronize cudaSetDeviceFlags cudaDeviceSetCacheConfig cudaThreadSetCacheConfig
        cudaDeviceSetSharedMemConfig cudaDeviceFlushGPUDirectRDMAWrites cudaCtxResetPersistingL2Cache cudaMemAdvise
        cudaMemAdvise_v2
    ]() {
        check_sticky()
    }

    fn [cudaSetValidDevices cudaProfilerStart cudaProfilerStop]() {
        Ok(())
    }

    fn [cudaGetDeviceProperties_v2 cudaGetDeviceProperties](properties: *mut cudaDeviceProp, device: c_int) {
        devices::check(device)?;
        put(properties, properties::properties(device))
    }

    fn [cudaDeviceGetAttribute](value: *mut c_int, number: c_int, device: c_int) {
        devices::check(device)?;
        put(value, attribute(number).ok_or(CudaError::INVALID_VALUE)?)
    }

    // `cudaDeviceReset`: frees everything and clears a sticky error.
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
        devices::check(device)?;
        if text.is_null() || usize::try_from(bytes).map_or(true, |bytes| bytes < PCI_BUS_ID_BYTES) {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: the program passes a buffer of `bytes` bytes, which is large enough.
        unsafe { text.copy_from_nonoverlapping(pci_bus_id(device).as_ptr(), PCI_BUS_ID_BYTES) };
        Ok(())
    }

    fn [cudaDeviceGetByPCIBusId](device: *mut c_int, text: *const c_char) {
        check_not_null(text)?;
        // SAFETY: the program passes a NUL-terminated string.
        let text = unsafe { std::ffi::CStr::from_ptr(text) };
        let found = (0..devices::count()).find(|&device| *pci_bus_id(device) == *text);
        put(device, found.ok_or(CudaError::INVALID_DEVICE)?)
    }
}

#[cfg(test)]
mod tests;
