//! Tests for `instances`.

use super::*;
use crate::streams::graphs::{Kind, add, new_graph};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn append_digit(number: u32, to: &Arc<AtomicU32>) -> Work {
    let to = to.clone();
    let call = move |_| {
        to.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |value| {
            Some(value * 10 + number)
        })
        .unwrap();
        Ok(())
    };
    Work::Call(Kind::Copy, Arc::new(call))
}

#[test]
fn an_instance_is_independent_of_its_graph() {
    let seen = Arc::new(AtomicU32::new(0));
    let child = new_graph();
    add(child, &[], append_digit(5, &seen)).unwrap();
    let graph = new_graph();
    let first = add(graph, &[], append_digit(1, &seen)).unwrap();
    let last = add(graph, &[first], Work::Child(child)).unwrap();
    add(graph, &[last], append_digit(3, &seen)).unwrap();
    let mut instance = 0;
    instantiate(&mut instance, graph, 0).unwrap();
    let run = |instance| {
        seen.store(0, Ordering::Relaxed);
        launch(instance, std::ptr::null_mut()).unwrap();
        seen.load(Ordering::Relaxed)
    };
    let new = append_digit(7, &seen);
    NODES.get(first).unwrap().work.lock().replace(new).unwrap();
    assert_eq!(run(instance), 153);
    let set = |new| step(instance, first, |step| step.work.replace(new));
    assert_eq!(set(Work::Empty), Err(CudaError::INVALID_VALUE));
    set(append_digit(2, &seen)).unwrap();
    assert_eq!(run(instance), 253);
    let mut result = cudaGraphExecUpdateResultInfo {
        result: cudaGraphExecUpdateResult::cudaGraphExecUpdateError,
        errorNode: std::ptr::null_mut(),
        errorFromNode: std::ptr::null_mut(),
    };
    update(instance, graph, &mut result).unwrap();
    let success = cudaGraphExecUpdateResult::cudaGraphExecUpdateSuccess;
    assert_eq!((run(instance), result.result), (753, success));
    assert_eq!(
        update(instance, child, &mut result),
        Err(CudaError::GRAPH_EXEC_UPDATE_FAILURE)
    );
    let changed = cudaGraphExecUpdateResult::cudaGraphExecUpdateErrorTopologyChanged;
    assert_eq!(result.result, changed);
    step(instance, first, |step| {
        step.is_enabled = false;
        Ok(())
    })
    .unwrap();
    assert_eq!(run(instance), 53);
}
