//! Queries about kernels. A kernel that no image in the program contains is reported as a fault.

use super::interposed;
use crate::cuda::Stub;
use crate::recorder::launch::noticed;
use std::ffi::{c_char, c_int, c_uint, c_void};

interposed! {
    [cudaFuncGetAttributes](attributes: *mut c_void, function: Stub) |real| { noticed(function, real()) }
    [cudaFuncSetAttribute](function: Stub, attribute: c_int, value: c_int) |real| { noticed(function, real()) }
    [cudaFuncSetCacheConfig, cudaFuncSetSharedMemConfig](function: Stub, configuration: c_int) |real| { noticed(function, real()) }
    [cudaFuncGetName](name: *mut *const c_char, function: Stub) |real| { noticed(function, real()) }
    [cudaFuncGetParamInfo](function: Stub, parameter: usize, offset: *mut usize, bytes: *mut usize) |real| { noticed(function, real()) }
    [cudaOccupancyMaxActiveBlocksPerMultiprocessor](
        ctas: *mut c_int, function: Stub, threads: c_int, shared_bytes: usize,
    ) |real| { noticed(function, real()) }
    [cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags](
        ctas: *mut c_int, function: Stub, threads: c_int, shared_bytes: usize, flags: c_uint,
    ) |real| { noticed(function, real()) }
    [cudaOccupancyAvailableDynamicSMemPerBlock](
        bytes: *mut usize, function: Stub, ctas: c_int, threads: c_int,
    ) |real| { noticed(function, real()) }
    [cudaOccupancyMaxPotentialClusterSize, cudaOccupancyMaxActiveClusters](
        result: *mut c_int, function: Stub, config: *const c_void,
    ) |real| { noticed(function, real()) }
}
