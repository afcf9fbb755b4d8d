//! Kernels that the program knows by name and that no image in it holds.
//!
//! CUDA reports one with an error code like any other, and libraries that probe for kernels (CUB) drop it: the program then
//! computes nothing and seems fine. Here it is a fault of the run.

use crate::cuda::ffi::{self, Error};
use crate::recorder::runtime::runtime;
use std::ffi::c_void;

/// Whether `error` says that there is no device code for a kernel.
fn says_missing(error: Error) -> bool {
    matches!(
        error,
        ffi::INVALID_DEVICE_FUNCTION | ffi::NO_KERNEL_IMAGE | ffi::NAMED_SYMBOL_NOT_FOUND
    )
}

/// Reports `kernel` when `error` says that there is no device code for it.
pub fn notice(kernel: &str, error: Error) {
    if says_missing(error) {
        runtime().session.fault(format!(
            "no image in the program holds kernel {kernel} for this GPU ({}); compile host and device code of its file for the same \
             architectures, and for this GPU's",
            crate::cuda::real::describe(error)
        ));
    }
}

/// Passes on what CUDA answered about the kernel of a stub or handle. A function that was never registered is the program's own
/// mistake, of which CUDA tells it.
pub fn noticed(function: *const c_void, error: Error) -> Error {
    if says_missing(error)
        && let Some(kernel) = runtime().kernel(function)
    {
        notice(&kernel.name, error);
    }
    error
}
