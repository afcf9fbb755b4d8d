//! The device that programs see: on every host, an sm_90 with the limits of an H100, so that grid sizes derived from
//! the number of multiprocessors are the same everywhere.

use crate::memory;
use crate::runtime::{COMPUTE_CAPABILITY, DEVICE_NAME};
use cudarc::runtime::sys::cudaDeviceProp;
use std::ffi::{c_char, c_int};
use superstep_runtime_core::limits::{MAX_GRID, MAX_THREADS, MAX_THREADS_BY_DIMENSION};

pub const MULTIPROCESSORS: u32 = 132;
pub const MAX_THREADS_PER_MULTIPROCESSOR: u32 = 2048;
pub const MAX_CTAS_PER_MULTIPROCESSOR: u32 = 32;
/// Shared memory of a CTA by default, of a CTA with opt-in, and of a multiprocessor.
pub const SHARED_BYTES: usize = 48 << 10;
pub const SHARED_OPT_IN_BYTES: usize = 227 << 10;
pub const SHARED_MULTIPROCESSOR_BYTES: usize = 228 << 10;
/// Shared memory that CUDA reserves in each CTA.
pub const SHARED_RESERVED_BYTES: usize = 1 << 10;

/// Defines the properties that are also attributes, each with its number in `cudaDeviceAttr` and its field.
macro_rules! shared {
    ($($number:literal $field:ident = $value:expr;)*) => {
        fn set_shared(properties: &mut cudaDeviceProp) {
            $(properties.$field = $value as _;)*
        }

        /// Returns the device attribute `number` of `cudaDeviceAttr`; 0 for unsupported features, `None` for invalid
        /// numbers.
        pub fn attribute(number: c_int) -> Option<c_int> {
            Some(match number {
                $($number => $value as c_int,)*
                2..=4 => MAX_THREADS_BY_DIMENSION[number as usize - 2] as c_int,
                5..=7 => MAX_GRID[number as usize - 5] as c_int,
                17..=143 => 0,
                _ => return None,
            })
        }
    };
}

shared! {
    1 maxThreadsPerBlock = MAX_THREADS;
    8 sharedMemPerBlock = SHARED_BYTES;
    9 totalConstMem = 64 << 10;
    10 warpSize = 32;
    11 memPitch = i32::MAX;
    12 regsPerBlock = 65536;
    13 clockRate = 1_980_000; // kHz
    14 textureAlignment = 512;
    15 deviceOverlap = 1;
    16 multiProcessorCount = MULTIPROCESSORS;
    19 canMapHostMemory = 1;
    30 surfaceAlignment = 512;
    31 concurrentKernels = 1;
    36 memoryClockRate = 2_619_000; // kHz
    37 memoryBusWidth = 5120; // bits
    38 l2CacheSize = 50 << 20;
    39 maxThreadsPerMultiProcessor = MAX_THREADS_PER_MULTIPROCESSOR;
    40 asyncEngineCount = 3;
    41 unifiedAddressing = 1;
    51 texturePitchAlignment = 32;
    75 major = COMPUTE_CAPABILITY[0];
    76 minor = COMPUTE_CAPABILITY[1];
    78 streamPrioritiesSupported = 1;
    79 globalL1CacheSupported = 1;
    80 localL1CacheSupported = 1;
    81 sharedMemPerMultiprocessor = SHARED_MULTIPROCESSOR_BYTES;
    82 regsPerMultiprocessor = 65536;
    83 managedMemory = 1;
    87 singleToDoublePrecisionPerfRatio = 2;
    89 concurrentManagedAccess = 1;
    90 computePreemptionSupported = 1;
    91 canUseHostPointerForRegisteredMem = 1;
    95 cooperativeLaunch = 1;
    97 sharedMemPerBlockOptin = SHARED_OPT_IN_BYTES;
    99 hostRegisterSupported = 1;
    106 maxBlocksPerMultiProcessor = MAX_CTAS_PER_MULTIPROCESSOR;
    111 reservedSharedMemPerBlock = SHARED_RESERVED_BYTES;
    115 memoryPoolsSupported = 1;
}

/// Returns the properties of a device. Devices differ only in UUID and bus ID.
pub fn properties(device: c_int) -> cudaDeviceProp {
    // SAFETY: the structure consists of integers.
    let mut properties: cudaDeviceProp = unsafe { std::mem::zeroed() };
    set_shared(&mut properties);
    for (place, byte) in properties.name.iter_mut().zip(DEVICE_NAME.bytes()) {
        *place = byte as c_char;
    }
    properties.uuid.bytes = b"superstep-cpu-00".map(|byte| byte as c_char);
    properties.uuid.bytes[15] += device as c_char;
    properties.pciBusID = device;
    properties.totalGlobalMem = memory::total_bytes() as usize;
    properties.maxThreadsDim = MAX_THREADS_BY_DIMENSION.map(|n| n as c_int);
    properties.maxGridSize = MAX_GRID.map(|n| n as c_int);
    properties
}

#[cfg(test)]
mod tests;
