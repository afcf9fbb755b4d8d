//! Kernel nodes of CUDA graphs.

use crate::cuda::memory::forget_last_error;
use crate::cuda::{GraphNode, Stub};
use crate::model::graphs::Node;
use crate::recorder::launch::opaque;
use crate::recorder::runtime::runtime;
use cudarc::driver::sys::CUDA_KERNEL_NODE_PARAMS_v2;
use std::collections::HashSet;
use std::sync::Arc;

/// Returns the stub of a node's kernel if the program registered it, and the driver's handle otherwise.
pub fn stub_of(
    node: GraphNode,
    parameters: &CUDA_KERNEL_NODE_PARAMS_v2,
    known: &[Arc<Node>],
) -> Stub {
    let handle = if parameters.func.is_null() {
        Stub::from_raw(parameters.kern.cast())
    } else {
        Stub::from_raw(parameters.func.cast())
    };
    match node.runtime_kernel() {
        Ok(given) => {
            let stub = Stub::from_raw(given.func);
            if runtime().kernel(stub).is_some() {
                return stub;
            }
        }
        // Kernels from the driver API are not registered with the runtime.
        Err(_) => forget_last_error(),
    }
    if runtime().kernel(handle).is_none()
        && let Some(name) = opaque::name_of(handle)
    {
        let is_same = |node: &&Arc<Node>| !node.kernel.stub.is_null() && node.kernel.name == name;
        return known
            .iter()
            .find(is_same)
            .map_or(handle, |node| node.kernel.stub);
    }
    handle
}

fn name_of(node: GraphNode) -> Option<String> {
    let stub = stub_of(node, &node.kernel().ok()?, &[]);
    match runtime().kernel(stub) {
        Some(kernel) => Some(kernel.name.clone()),
        None => opaque::name_of(stub),
    }
}

/// Removes and returns the first known kernel with the node's name, since most handles in child graphs and clones are
/// unknown. Kernels that share a buffer stay in order.
pub fn take_by_name(node: GraphNode, known: &mut Vec<Arc<Node>>) -> Option<Arc<Node>> {
    let name = name_of(node).unwrap_or_default();
    let mut buffers = HashSet::new();
    let is_match = |node: &Arc<Node>| {
        let is_first = node
            .buffer()
            .is_none_or(|buffer| buffers.insert(Arc::as_ptr(buffer)));
        is_first && node.kernel.name == name
    };
    let place = known.iter().position(is_match)?;
    Some(known.remove(place))
}
