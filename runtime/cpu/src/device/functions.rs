//! Kernel attributes and occupancy.

use crate::device::properties::{
    MAX_CTAS_PER_MULTIPROCESSOR, MAX_THREADS_PER_MULTIPROCESSOR, SHARED_MULTIPROCESSOR_BYTES,
    SHARED_OPT_IN_BYTES, SHARED_RESERVED_BYTES,
};
use crate::errors::{CudaError, check_sticky, cuda, fail_if, put};
use crate::registry::{Kernel, kernel};
use cudarc::runtime::sys::cudaFuncAttributes;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

/// Register count reported for every kernel. The actual count is unknown; 32 does not limit occupancy.
const REGISTERS: c_int = 32;
const VERSION: c_int = 90;
/// `cudaFuncAttributeMaxDynamicSharedMemorySize`.
const ATTRIBUTE_MAX_DYNAMIC_SHARED: c_int = 8;
const ATTRIBUTES: std::ops::RangeInclusive<c_int> = 8..=15;

fn attributes(kernel: &Kernel) -> cudaFuncAttributes {
    // SAFETY: the structure consists of integers.
    let zeroes: cudaFuncAttributes = unsafe { std::mem::zeroed() };
    cudaFuncAttributes {
        sharedSizeBytes: kernel.static_shared_bytes as usize,
        maxThreadsPerBlock: kernel.max_threads as c_int,
        numRegs: REGISTERS,
        ptxVersion: VERSION,
        binaryVersion: VERSION,
        maxDynamicSharedSizeBytes: kernel.max_dynamic_shared_bytes.load(Ordering::Relaxed) as c_int,
        preferredShmemCarveout: -1,
        ..zeroes
    }
}

/// Returns how many CTAs of a kernel fit on a multiprocessor.
pub fn occupancy(kernel: &Kernel, threads: c_int, dynamic: usize) -> Result<c_int, CudaError> {
    let (max, fixed) = (kernel.max_threads, kernel.static_shared_bytes);
    resident_ctas(max, fixed, threads, dynamic)
}

fn resident_ctas(
    max_threads: u32,
    static_bytes: u64,
    threads: c_int,
    dynamic_bytes: usize,
) -> Result<c_int, CudaError> {
    let threads = u32::try_from(threads)
        .ok()
        .filter(|&threads| threads > 0)
        .ok_or(CudaError::INVALID_VALUE)?;
    if threads > max_threads {
        return Ok(0);
    }
    let by_threads = MAX_THREADS_PER_MULTIPROCESSOR / threads.next_multiple_of(32);
    let shared = (static_bytes as usize)
        .saturating_add(dynamic_bytes)
        .saturating_add(SHARED_RESERVED_BYTES);
    let by_shared = u32::try_from(SHARED_MULTIPROCESSOR_BYTES / shared).unwrap_or(u32::MAX);
    Ok(by_threads.min(by_shared).min(MAX_CTAS_PER_MULTIPROCESSOR) as c_int)
}

cuda! {
    fn [cudaFuncGetAttributes](place: *mut cudaFuncAttributes, function: *const c_void) {
        check_sticky()?;
        put(place, attributes(&*kernel(function)?))
    }

    fn [cudaFuncSetAttribute](function: *const c_void, attribute: c_int, value: c_int) {
        check_sticky()?;
        let kernel = kernel(function)?;
        fail_if(!ATTRIBUTES.contains(&attribute), CudaError::INVALID_VALUE)?;
        if attribute == ATTRIBUTE_MAX_DYNAMIC_SHARED {
            let bytes = u64::try_from(value).map_err(|_| CudaError::INVALID_VALUE)?;
            fail_if(bytes + kernel.static_shared_bytes > SHARED_OPT_IN_BYTES as u64, CudaError::INVALID_VALUE)?;
            kernel.max_dynamic_shared_bytes.store(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    // `cudaFuncSetCacheConfig`: has no effect.
    fn [cudaFuncSetCacheConfig cudaFuncSetSharedMemConfig](function: *const c_void) {
        kernel(function).map(drop)
    }

    fn [cudaOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags](
        ctas: *mut c_int, function: *const c_void, threads: c_int, shared_bytes: usize
    ) {
        let kernel = kernel(function)?;
        let resident = occupancy(&kernel, threads, shared_bytes)?;
        // At most one CTA per multiprocessor, since larger grids take too long at their barriers.
        put(ctas, if kernel.waits_for_grid { resident.min(1) } else { resident })
    }

    fn [cudaOccupancyAvailableDynamicSMemPerBlock](bytes: *mut usize, function: *const c_void, ctas: c_int) {
        let kernel = kernel(function)?;
        let ctas = usize::try_from(ctas).ok().filter(|&ctas| ctas > 0).ok_or(CudaError::INVALID_VALUE)?;
        let per_cta = (SHARED_MULTIPROCESSOR_BYTES / ctas).saturating_sub(SHARED_RESERVED_BYTES);
        put(bytes, per_cta.min(SHARED_OPT_IN_BYTES).saturating_sub(kernel.static_shared_bytes as usize))
    }
}

#[cfg(test)]
mod tests;
