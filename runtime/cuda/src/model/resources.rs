//! What a kernel takes of a multiprocessor: registers, and how many CTAs fit.

use crate::cuda::ffi::{self, FunctionAttributes};
use crate::cuda::real;
use std::ffi::{c_int, c_void};
use superstep_trace::KernelResources;

/// `cudaDevAttrMaxThreadsPerMultiProcessor`.
const ATTRIBUTE_SM_THREADS: c_int = 39;

/// Asks the runtime about the kernel of the host stub `function`, launched with CTAs of `cta_threads` threads and `dynamic_shared_bytes`.
/// `None` when it does not tell.
pub fn of_kernel(
    attributes: &FunctionAttributes,
    function: *const c_void,
    cta_threads: u32,
    dynamic_shared_bytes: usize,
) -> Option<KernelResources> {
    let (mut device, mut sm_threads, mut sm_ctas): (c_int, c_int, c_int) = (0, 0, 0);
    let threads = c_int::try_from(cta_threads).ok()?;
    // SAFETY: the pointers lead to numbers, and the stub was registered.
    let errors = unsafe {
        [
            real::get_device(&mut device),
            real::device_attribute(&mut sm_threads, ATTRIBUTE_SM_THREADS, device),
            real::occupancy(&mut sm_ctas, function, threads, dynamic_shared_bytes),
        ]
    };
    if errors.iter().any(|&error| error != ffi::SUCCESS) {
        return None;
    }
    // `cudaFuncAttributes`: three sizes, then `maxThreadsPerBlock` and `numRegs`.
    let number = |value: c_int| u32::try_from(value).unwrap_or(0);
    Some(KernelResources {
        registers: (attributes.rest[2] >> 32) as u32,
        local_bytes: attributes.rest[1],
        cta_threads,
        shared_bytes: (attributes.static_shared_bytes + dynamic_shared_bytes) as u64,
        sm_ctas: number(sm_ctas),
        sm_threads: number(sm_threads),
    })
}
