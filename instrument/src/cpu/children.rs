//! Launches from the device: calls of CUDA's device runtime, which the CPU runtime answers.

use crate::ir::{Builder, Module};

/// Functions of the device runtime (`cuda_device_runtime_api.h`), and those of the CPU runtime in their place.
const FUNCTIONS: &[(&str, &str)] = &[
    ("GetParameterBuffer", "arguments"),
    ("LaunchDevice", "launch"),
    ("LaunchDevice_ptsz", "launch"),
    ("StreamCreateWithFlags", "stream_create"),
    ("StreamDestroy", "stream_destroy"),
    ("GetLastError", "error"),
    ("PeekAtLastError", "error"),
    ("GetErrorName", "error_name"),
    ("GetErrorString", "error_string"),
    ("GetDevice", "device"),
    ("MemcpyAsync", "copy"),
    ("MemcpyAsync_ptsz", "copy"),
    ("MemsetAsync", "fill"),
    ("MemsetAsync_ptsz", "fill"),
    ("Malloc", "malloc"),
    ("Free", "free"),
];

const PREFIX: &str = "__cudaCDP2";

/// Whether the CPU runtime has the device function `name`, which no unit defines.
pub fn has(name: &str) -> bool {
    ours(name).is_some()
}

fn ours(name: &str) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?;
    let found = FUNCTIONS.iter().find(|(theirs, _)| *theirs == rest)?;
    Some(format!("__superstep_child_{}", found.1))
}

/// Makes the calls those of the CPU runtime. Structures that are passed by value are passed by their address: x86 has another way to pass
/// them than this IR, and the function only reads them.
pub fn lower(module: &Module) {
    for function in module.functions() {
        let Some(name) = ours(&function.name()).filter(|_| function.is_declaration()) else {
            continue;
        };
        let replacement = module.declare(&name, function.signature());
        for call in function.callers() {
            let made = Builder::before(*call).call(replacement, &call.arguments());
            call.replace_all_uses_with(made.value());
            call.erase();
        }
    }
}
