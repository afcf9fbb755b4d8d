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
/// Registers per CTA and per multiprocessor.
pub const REGISTERS: i32 = 65536;
pub const CONSTANT_BYTES: usize = 64 << 10;
const CLOCK_KHZ: i32 = 1_980_000;
const MEMORY_CLOCK_KHZ: i32 = 2_619_000;
const MEMORY_BUS_BITS: i32 = 5120;
const L2_BYTES: i32 = 50 << 20;
const MAX_PITCH: i32 = i32::MAX;

/// Returns the properties of a device. Devices differ only in UUID and bus ID.
pub fn properties(device: c_int) -> cudaDeviceProp {
    // SAFETY: the structure consists of integers.
    let mut properties: cudaDeviceProp = unsafe { std::mem::zeroed() };
    for (place, byte) in properties.name.iter_mut().zip(DEVICE_NAME.bytes()) {
        *place = byte as c_char;
    }
    properties.uuid.bytes = b"superstep-cpu-00".map(|byte| byte as c_char);
    properties.uuid.bytes[15] += device as c_char;
    properties.pciBusID = device;
    properties.totalGlobalMem = memory::total_bytes() as usize;
    properties.sharedMemPerBlock = SHARED_BYTES;
    properties.regsPerBlock = REGISTERS;
    properties.warpSize = 32;
    properties.memPitch = MAX_PITCH as usize;
    properties.maxThreadsPerBlock = MAX_THREADS as c_int;
    properties.maxThreadsDim = MAX_THREADS_BY_DIMENSION.map(|n| n as c_int);
    properties.maxGridSize = MAX_GRID.map(|n| n as c_int);
    properties.clockRate = CLOCK_KHZ;
    properties.totalConstMem = CONSTANT_BYTES;
    properties.major = COMPUTE_CAPABILITY[0] as c_int;
    properties.minor = COMPUTE_CAPABILITY[1] as c_int;
    properties.textureAlignment = 512;
    properties.texturePitchAlignment = 32;
    properties.deviceOverlap = 1;
    properties.multiProcessorCount = MULTIPROCESSORS as c_int;
    properties.canMapHostMemory = 1;
    properties.surfaceAlignment = 512;
    properties.concurrentKernels = 1;
    properties.asyncEngineCount = 3;
    properties.unifiedAddressing = 1;
    properties.memoryClockRate = MEMORY_CLOCK_KHZ;
    properties.memoryBusWidth = MEMORY_BUS_BITS;
    properties.l2CacheSize = L2_BYTES;
    properties.maxThreadsPerMultiProcessor = MAX_THREADS_PER_MULTIPROCESSOR as c_int;
    properties.streamPrioritiesSupported = 1;
    properties.globalL1CacheSupported = 1;
    properties.localL1CacheSupported = 1;
    properties.sharedMemPerMultiprocessor = SHARED_MULTIPROCESSOR_BYTES;
    properties.regsPerMultiprocessor = REGISTERS;
    properties.managedMemory = 1;
    properties.singleToDoublePrecisionPerfRatio = 2;
    properties.concurrentManagedAccess = 1;
    properties.cooperativeLaunch = 1;
    properties.computePreemptionSupported = 1;
    properties.canUseHostPointerForRegisteredMem = 1;
    properties.sharedMemPerBlockOptin = SHARED_OPT_IN_BYTES;
    properties.maxBlocksPerMultiProcessor = MAX_CTAS_PER_MULTIPROCESSOR as c_int;
    properties.reservedSharedMemPerBlock = SHARED_RESERVED_BYTES;
    properties.hostRegisterSupported = 1;
    properties.memoryPoolsSupported = 1;
    properties
}

/// Returns the device attribute `number` of `cudaDeviceAttr`; 0 for unsupported features, `None` for invalid numbers.
pub fn attribute(number: c_int) -> Option<c_int> {
    Some(match number {
        1..=3 => 1024,
        4 => 64,
        5 => 0x7fff_ffff,
        6 | 7 => 65535,
        8 => SHARED_BYTES as c_int,
        9 => CONSTANT_BYTES as c_int,
        10 => 32,
        11 => MAX_PITCH,
        12 | 82 => REGISTERS,
        13 => CLOCK_KHZ,
        14 | 30 => 512,
        15 | 19 | 31 | 41 | 78 | 79 | 80 | 83 | 89 | 90 | 91 | 95 | 99 | 115 => 1,
        16 => MULTIPROCESSORS as c_int,
        36 => MEMORY_CLOCK_KHZ,
        37 => MEMORY_BUS_BITS,
        38 => L2_BYTES,
        39 => MAX_THREADS_PER_MULTIPROCESSOR as c_int,
        40 => 3,
        51 => 32,
        75 => COMPUTE_CAPABILITY[0] as c_int,
        76 => COMPUTE_CAPABILITY[1] as c_int,
        81 => SHARED_MULTIPROCESSOR_BYTES as c_int,
        87 => 2,
        97 => SHARED_OPT_IN_BYTES as c_int,
        106 => MAX_CTAS_PER_MULTIPROCESSOR as c_int,
        111 => SHARED_RESERVED_BYTES as c_int,
        17..=143 => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
