//! Tests that the check detects sites whose accesses were removed.

use super::*;
use std::collections::HashMap;
use superstep_trace::Backend;

const TEXT: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @kernel(ptr addrspace(1) %out) {
  store i32 1, ptr addrspace(1) %out
  %old = call i32 asm "ld.global.u32 $0, [$1];", "=r,l"(ptr addrspace(1) %out)
  store i32 %old, ptr addrspace(1) %out
  ret void
}
"#;

/// Inserts probes, calls `change` on the kernel, and checks the sites.
fn check_after(change: impl Fn(Function)) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.ll");
    std::fs::write(&path, TEXT).unwrap();
    let module = Module::read(&path).unwrap();
    let (operations, sites) = {
        let analysis = Analysis::of(&module);
        find(&module, &analysis, SiteOptions::default()).unwrap()
    };
    assert_eq!(sites.len(), 3);
    crate::probe::insert(&module, &operations, &HashMap::new(), Backend::Cuda, false).unwrap();
    let before = marked(&module);
    assert_eq!(before.len(), 3);
    change(module.function("kernel").unwrap());
    let checked = check(&module, &before, &sites).map_err(|error| error.to_string());
    assert!(marked(&module).is_empty(), "marks remain");
    checked
}

fn stores(function: Function) -> Vec<Instruction> {
    let all = function.instructions().into_iter();
    all.filter(|i| i.get_opcode() == Store).collect()
}

#[test]
fn code_with_all_accesses_passes() {
    assert_eq!(check_after(|_| {}), Ok(()));
}

#[test]
fn erased_store_is_an_internal_error() {
    let error = check_after(|kernel| stores(kernel)[0].erase()).unwrap_err();
    assert!(
        error.contains("the store in kernel is no longer in the code"),
        "{error}"
    );
}

#[test]
fn assembly_that_a_backend_removes_is_an_internal_error() {
    let error = check_after(|kernel| stores(kernel)[1].erase()).unwrap_err();
    assert!(
        error.contains("the load in kernel is no longer in the code"),
        "{error}"
    );
}
