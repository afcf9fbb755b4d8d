//! Instances of graphs. Programs launch instances, and can change them between launches.

use super::{GRAPHS, NODES, Work};
use crate::errors::{
    CudaError, CudaResult, check_not_null, check_sticky, cuda, put, put_if_wanted,
};
use crate::handles::Handles;
use cudarc::runtime::sys::{
    cudaGraphExecUpdateResult, cudaGraphExecUpdateResultInfo, cudaGraphInstantiateParams,
    cudaGraphInstantiateResult, cudaGraphNode_t,
};
use parking_lot::Mutex;
use std::ffi::{c_uint, c_void};
use superstep_runtime_core::BadEdge;

#[derive(Clone)]
pub(super) struct Step {
    node: usize,
    pub(super) work: Work,
    is_enabled: bool,
}

#[derive(Clone)]
struct Instance {
    steps: Vec<Step>,
    flags: u64,
}

static INSTANCES: Handles<Mutex<Instance>> = Handles::new();

fn steps(handle: usize) -> Result<Vec<Step>, CudaError> {
    let order = GRAPHS.get(handle)?.lock().in_order();
    let order = order.map_err(|BadEdge| CudaError::INVALID_VALUE)?;
    let mut steps = Vec::with_capacity(order.len());
    for handle in order {
        let step = Step {
            node: handle,
            work: NODES.get(handle)?.work.lock().clone(),
            is_enabled: true,
        };
        let inner = match step.work {
            Work::Child(child) => self::steps(child)?,
            _ => Vec::new(),
        };
        steps.push(step);
        steps.extend(inner);
    }
    Ok(steps)
}

fn instantiate(place: *mut usize, graph: usize, flags: u64) -> CudaResult {
    check_sticky()?;
    let steps = steps(graph)?;
    let instance = INSTANCES.insert(Mutex::new(Instance { steps, flags }));
    put(place, instance)
}

fn launch(handle: usize, stream: *mut c_void) -> CudaResult {
    check_sticky()?;
    crate::streams::get(stream)?;
    let steps = INSTANCES.get(handle)?.lock().steps.clone();
    // In a captured stream, the instance becomes part of the new graph.
    let is_capturing = super::stream_is_capturing(stream);
    for step in steps.into_iter().filter(|step| step.is_enabled) {
        if is_capturing {
            super::capture::append(stream, step.work)?;
        } else {
            step.work.run(stream)?;
        }
    }
    Ok(())
}

pub(super) fn step<T>(
    handle: usize,
    node: usize,
    read: impl FnOnce(&mut Step) -> Result<T, CudaError>,
) -> Result<T, CudaError> {
    let instance = INSTANCES.get(handle)?;
    let mut instance = instance.lock();
    let step = instance.steps.iter_mut().find(|step| step.node == node);
    read(step.ok_or(CudaError::INVALID_VALUE)?)
}

/// Replaces the work of an instance's nodes with the work of the nodes in `from`, a graph of the same shape.
fn update(handle: usize, from: usize, place: *mut cudaGraphExecUpdateResultInfo) -> CudaResult {
    use cudaGraphExecUpdateResult::*;
    let instance = INSTANCES.get(handle)?;
    let mut instance = instance.lock();
    let new = steps(from)?;
    let mut pairs = instance.steps.iter().zip(&new);
    let mismatch = pairs.find(|(old, new)| old.work.number() != new.work.number());
    let (result, node) = match mismatch {
        _ if instance.steps.len() != new.len() => (cudaGraphExecUpdateErrorTopologyChanged, 0),
        Some((_, new)) => (cudaGraphExecUpdateErrorNodeTypeChanged, new.node),
        None => (cudaGraphExecUpdateSuccess, 0),
    };
    let info = cudaGraphExecUpdateResultInfo {
        result,
        errorNode: node as cudaGraphNode_t,
        errorFromNode: std::ptr::null_mut(),
    };
    put_if_wanted(place, info)?;
    if result != cudaGraphExecUpdateSuccess {
        return Err(CudaError::GRAPH_EXEC_UPDATE_FAILURE);
    }
    for (old, new) in instance.steps.iter_mut().zip(new) {
        old.work = new.work;
    }
    Ok(())
}

cuda! { by_name:
    // An upload has no effect, regardless of its stream.
    fn [cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz](
        place: *mut usize, graph: usize, parameters: *mut cudaGraphInstantiateParams
    ) |_name| {
        check_not_null(parameters)?;
        // SAFETY: the program passes a structure; only its flags are read.
        instantiate(place, graph, unsafe { (*parameters).flags })?;
        let success = cudaGraphInstantiateResult::cudaGraphInstantiateSuccess;
        // SAFETY: the program passes a structure for the results.
        unsafe {
            (&raw mut (*parameters).errNode_out).write(std::ptr::null_mut());
            (&raw mut (*parameters).result_out).write(success);
        }
        Ok(())
    }
}

cuda! {
    fn [cudaGraphInstantiate cudaGraphInstantiateWithFlags](place: *mut usize, graph: usize, flags: u64) {
        instantiate(place, graph, flags)
    }

    fn [cudaGraphExecDestroy](handle: usize) {
        INSTANCES.remove(handle).map(drop)
    }

    fn [cudaGraphExecGetFlags](handle: usize, flags: *mut u64) {
        put(flags, INSTANCES.get(handle)?.lock().flags)
    }

    fn [cudaGraphLaunch cudaGraphLaunch_ptsz](handle: usize, stream: *mut c_void) {
        launch(handle, stream)
    }

    // `cudaGraphUpload`: has no effect.
    fn [cudaGraphUpload cudaGraphUpload_ptsz](handle: usize, stream: *mut c_void) {
        crate::streams::get(stream)?;
        INSTANCES.get(handle).map(drop)
    }

    fn [cudaGraphExecUpdate](handle: usize, from: usize, result: *mut cudaGraphExecUpdateResultInfo) {
        update(handle, from, result)
    }

    fn [cudaGraphNodeSetEnabled](handle: usize, node: usize, is_enabled: c_uint) {
        step(handle, node, |step| {
            step.is_enabled = is_enabled != 0;
            Ok(())
        })
    }

    fn [cudaGraphNodeGetEnabled](handle: usize, node: usize, place: *mut c_uint) {
        put(place, c_uint::from(step(handle, node, |step| Ok(step.is_enabled))?))
    }
}

#[cfg(test)]
mod tests;
