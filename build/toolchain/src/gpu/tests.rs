//! Tests for `gpu`.

use super::*;

#[test]
fn a_problem_is_reported_exactly_when_there_are_no_devices() {
    let gpus = detect();
    assert_eq!(gpus.devices.is_empty(), gpus.problem.is_some(), "{gpus:?}");
}

#[test]
fn versions_of_both_kernel_modules_are_read() {
    let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:15:17 UTC 2025\nGCC";
    let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build";
    assert_eq!(kernel_module_version(closed).as_deref(), Some("580.65.06"));
    assert_eq!(kernel_module_version(open).as_deref(), Some("575.57.08"));
    assert_eq!(kernel_module_version("nothing"), None);
}

#[test]
fn a_device_is_named_with_its_architecture() {
    let device = Device {
        name: "NVIDIA H100".into(),
        compute_capability: (9, 0),
        memory_bytes: 80 << 30,
    };
    assert_eq!(device.to_string(), "NVIDIA H100 (sm_90, 81920 MiB)");
}
