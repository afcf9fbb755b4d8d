//! Calls that would run a traced kernel without the parameters that it needs. A program without probes may make them.

use super::interposed;
use crate::cuda::ffi;
use crate::recorder::runtime::runtime;
use std::ffi::{c_uint, c_void};

/// Passes the call on, unless the program is traced: then it fails, and the run says why.
pub(super) fn unless_probed(what: &str, real: impl FnOnce() -> ffi::Error) -> ffi::Error {
    let runtime = runtime();
    if !runtime.is_probed() {
        return real();
    }
    runtime.session.fault(format!(
        "{what} is not supported in a traced program; build the program without it to trace it"
    ));
    ffi::NOT_SUPPORTED
}

interposed! {
    [cudaLaunchCooperativeKernelMultiDevice](parameters: *mut c_void, devices: c_uint, flags: c_uint)
    |real| {
        unless_probed("a launch on several devices (cudaLaunchCooperativeKernelMultiDevice)", real)
    }
}
