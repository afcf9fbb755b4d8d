//! Launches from the device: replaces calls to CUDA's device runtime with calls to Superstep's own functions. On a GPU,
//! these record the request, and the host launches the kernel after the parent has ended
//! (`runtime/cuda/device/support_children.cu`).

use crate::ir::{Builder, Module, Type, traits::*};
use superstep_trace::KernelInfo;

/// Functions of the device runtime (`cuda_device_runtime_api.h`) and Superstep's replacements.
const FUNCTIONS: &[(&str, &str)] = &[
    ("GetParameterBuffer", "arguments"),
    ("LaunchDevice", "launch"),
    ("StreamCreateWithFlags", "stream_create"),
    ("StreamDestroy", "stream_destroy"),
    ("GetLastError", "error"),
    ("PeekAtLastError", "error"),
    ("GetErrorName", "error_name"),
    ("GetErrorString", "error_string"),
    ("GetDevice", "device"),
    ("MemcpyAsync", "copy"),
    ("MemsetAsync", "fill"),
    ("Malloc", "malloc"),
    ("Free", "free"),
];

const PREFIX: &str = "__cudaCDP2";

pub const MALLOC: &str = "__superstep_child_malloc";

/// Returns whether Superstep provides the device function `name`.
pub fn has(name: &str) -> bool {
    ours(name).is_some()
}

fn ours(name: &str) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?;
    // Functions that use a per-thread default stream have this suffix.
    let rest = rest.strip_suffix("_ptsz").unwrap_or(rest);
    let (_, ours) = FUNCTIONS.iter().find(|(theirs, _)| *theirs == rest)?;
    Some(format!("__superstep_child_{ours}"))
}

/// Returns whether the device-runtime function `name` returns a buffer for the arguments of a launch.
pub fn returns_argument_buffer(name: &str) -> bool {
    name.strip_prefix(PREFIX) == Some("GetParameterBuffer")
}

/// Redirects device-runtime calls to Superstep's functions; returns whether there were any. By-value structures are
/// passed by address: x86 passes them differently from this IR, and the functions only read them.
pub fn lower(module: &Module) -> bool {
    let mut any = false;
    for function in module.functions() {
        let Some(name) = ours(&function.name()).filter(|_| function.is_declaration()) else {
            continue;
        };
        let replacement = module.declare(&name, function.signature());
        for call in function.callers() {
            any = true;
            let new_call = Builder::before(call).call(replacement, &call.arguments());
            call.replace_uses_with(new_call.value());
            call.erase();
        }
    }
    any
}

/// Runs [`lower`] and replaces each kernel's address with its 1-based index in `kernels`, which the host uses to
/// launch it. A launch through an address from a variable fails.
pub fn lower_for_gpu(module: &Module, kernels: &[KernelInfo]) -> bool {
    if !lower(module) {
        return false;
    }
    for (kernel, number) in kernels.iter().zip(1..) {
        let Some(kernel) = module.function(&kernel.name) else {
            continue;
        };
        for user in kernel.using_instructions() {
            let address = Builder::before(user).to_generic(Type::int(64).constant(number));
            user.replace_operand(kernel.value(), address);
        }
    }
    true
}
