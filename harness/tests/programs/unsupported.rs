//! Programs that need a feature that Superstep or the CPU backend lacks fail with an error that names it.

use crate::common::{run, superstep};
use std::fs;
use std::path::Path;

/// Returns the exit code and the errors of `superstep run` with these arguments on the CPU.
fn run_on_cpu(folder: &Path, words: &[&str]) -> (i32, String) {
    let (code, _, err) = run(superstep(folder)
        .args(["run", "--backend", "cpu"])
        .args(words));
    (code, err)
}

const CONDITIONAL: &str = r#"
__global__ void count(cudaGraphConditionalHandle handle, int *number) {
  if (++*number == 5) cudaGraphSetConditional(handle, 0);
}
int main() {
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphConditionalHandle handle;
  cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn conditional_graph_nodes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (in_kernel, in_host) = (folder.path().join("a.cu"), folder.path().join("b.cu"));
    fs::write(in_kernel, CONDITIONAL).unwrap();
    let call = "if (++*number == 5) cudaGraphSetConditional(handle, 0);";
    assert!(CONDITIONAL.contains(call));
    fs::write(in_host, CONDITIONAL.replace(call, "")).unwrap();
    let reason = "Superstep does not support conditional graph nodes; let the host decide";
    for (file, code, prefix) in [
        ("a.cu", 6, "a.cu:3: count calls cudaGraphSetConditional: "),
        ("b.cu", 10, "cudaGraphConditionalHandleCreate: "),
    ] {
        let (found, err) = run_on_cpu(folder.path(), &[file]);
        assert!(err.contains(&format!("{prefix}{reason}")), "{err}");
        assert_eq!(found, code, "{err}");
    }
}

/// Calls the driver only if there is an argument.
const DRIVER: &str = r#"
#include <cstdio>
#include <cuda.h>
__global__ void fill(int *numbers) { numbers[threadIdx.x] = threadIdx.x; }
int main(int count, char **) {
  if (count > 1) {
    CUdevice device;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS) return 2;
  }
  int *numbers;
  cudaMalloc(&numbers, 256);
  fill<<<1, 64>>>(numbers);
  std::printf("%d\n", cudaDeviceSynchronize());
}
"#;

/// Such a program builds without the driver library, and runs without it as long as it calls no driver function.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn driver_functions_are_named_when_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("driver.cu"), DRIVER).unwrap();
    let words = ["build", "--", "nvcc", "driver.cu", "-o", "app", "-lcuda"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    for program in [&["driver.cu", "-l", "cuda"][..], &["app"]] {
        let (code, err) = run_on_cpu(folder.path(), program);
        assert_eq!(code, 0, "{err}");
        let (code, err) = run_on_cpu(folder.path(), &[program, &["--", "1"]].concat());
        assert_ne!(code, 0, "{err}");
        let message = "cuInit is not supported by the CPU backend; run the program with --backend cuda, on a machine with a GPU";
        assert!(err.contains(message), "{err}");
    }
}
