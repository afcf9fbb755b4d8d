//! Every function of libcudart 12.9 is exported: those that work, and those that say that they do not.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

/// A few of each kind; the whole list is compared where libcudart itself is installed.
const SOME: &[&str] = &[
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
    "__superstep_barrier_reduce",
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
fn every_function_is_there() {
    let library = common::library_folder().join("libsuperstep_cudart_cpu.so");
    let Some(ours) = symbols(&library.to_string_lossy()) else {
        eprintln!("skipped: nm is not installed");
        return;
    };
    let missing: Vec<_> = SOME.iter().filter(|name| !ours.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let Ok(tools) = superstep_toolchain::Toolchain::locate() else {
        eprintln!("skipped: the CUDA pieces are not installed");
        return;
    };
    let theirs = symbols(&tools.cuda.cudart.to_string_lossy()).expect("libcudart has symbols");
    let missing: Vec<_> = theirs
        .iter()
        .filter(|name| name.contains("cuda") && !name.starts_with("lib") && !ours.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
