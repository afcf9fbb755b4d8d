//! Tests which functions of the CUDA runtime this library exports, and the stub's error for the others.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A few functions of each kind.
const NAMES: &[&str] = &[
    "__cudaRegisterFatBinary",
    "__cudaPushCallConfiguration",
    "cudaLaunchKernel",
    "cudaLaunchKernel_ptsz",
    "cudaMemcpy_ptds",
    "cudaGetDeviceProperties_v2",
    "cudaGraphLaunch",
    "cudaGraphLaunch_ptsz",
    "cudaBindTexture",
    "__superstep_register_cpu_module",
    "__superstep_barrier_reduce_count",
    "__superstep_is_global",
    "__superstep_symbol_named",
];

fn symbols(library: &str) -> Option<BTreeSet<String>> {
    let output = Command::new("nm")
        .args(["-D", "--defined-only", library])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout)
        .ok()
        .filter(|_| output.status.success())?;
    Some(
        text.lines()
            .filter_map(|line| {
                line.split_whitespace()
                    .last()?
                    .split('@')
                    .next()
                    .map(str::to_owned)
            })
            .collect(),
    )
}

#[test]
fn supported_functions_are_exported() {
    let library = common::library_folder().join("libsuperstep_cudart_cpu.so");
    let Some(ours) = symbols(&library.to_string_lossy()) else {
        eprintln!("skipped: nm is not installed");
        return;
    };
    let missing: Vec<_> = NAMES.iter().filter(|name| !ours.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

const PROGRAM: &str = "int cudaGetDevice(int *); int cudaIpcOpenMemHandle(void);
int main(void) { int device; return cudaGetDevice(&device) ? 1 : cudaIpcOpenMemHandle(); }";

#[test]
fn stub_names_an_unsupported_function_when_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name| folder.path().join(name);
    let names = "ENTRY(cudaGetDevice)\nENTRY(cudaIpcOpenMemHandle)\n";
    std::fs::write(at("names"), names).unwrap();
    std::fs::write(at("program.c"), PROGRAM).unwrap();
    let stub =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/src/compile/link/cudart_stub.c");
    let library = common::library_folder().join("libsuperstep_cudart_cpu.so");
    let built = Command::new("cc")
        .arg(format!("-DSUPERSTEP_NAMES=\"{}\"", at("names").display()))
        .arg(format!("-DSUPERSTEP_RUNTIME=\"{}\"", library.display()))
        .args(["-std=gnu17", "-fPIC", "-o"])
        .args([at("program"), at("program.c"), stub])
        .args(["-ldl"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    let output = Command::new(at("program")).output().unwrap();
    assert_eq!(output.status.code(), Some(70), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "superstep: error: cudaIpcOpenMemHandle is not supported by the CPU backend; run the program with --backend cuda, on a machine with a GPU\n"
    );
}
