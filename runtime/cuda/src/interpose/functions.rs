//! Questions about kernels. They pass through; one about a kernel that no image of the program holds ends the run with an error.

use super::interposed;
use crate::model::missing::noticed;
use std::ffi::{c_char, c_int, c_uint, c_void};

interposed! {
    [cudaFuncGetAttributes](attributes: *mut c_void, function: *const c_void) |real| { noticed(function, real()) }
    [cudaFuncSetAttribute](function: *const c_void, attribute: c_int, value: c_int) |real| { noticed(function, real()) }
    [cudaFuncSetCacheConfig, cudaFuncSetSharedMemConfig](function: *const c_void, configuration: c_int) |real| { noticed(function, real()) }
    [cudaFuncGetName](name: *mut *const c_char, function: *const c_void) |real| { noticed(function, real()) }
    [cudaFuncGetParamInfo](function: *const c_void, parameter: usize, offset: *mut usize, bytes: *mut usize) |real| { noticed(function, real()) }
    [cudaOccupancyMaxActiveBlocksPerMultiprocessor](
        ctas: *mut c_int, function: *const c_void, threads: c_int, shared_bytes: usize,
    ) |real| { noticed(function, real()) }
    [cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags](
        ctas: *mut c_int, function: *const c_void, threads: c_int, shared_bytes: usize, flags: c_uint,
    ) |real| { noticed(function, real()) }
    [cudaOccupancyAvailableDynamicSMemPerBlock](
        bytes: *mut usize, function: *const c_void, ctas: c_int, threads: c_int,
    ) |real| { noticed(function, real()) }
    [cudaOccupancyMaxPotentialClusterSize, cudaOccupancyMaxActiveClusters](
        result: *mut c_int, function: *const c_void, config: *const c_void,
    ) |real| { noticed(function, real()) }
}
