//! If the traced and counting runs disagree, more counting runs show whether the program's counts vary.

use crate::common::{run, superstep};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Each of 32 threads loads a few words. A file specifies how many for the untraced run, the traced run and each
/// counting run.
const PROGRAM: &str = r#"
#include <cstdio>
__global__ void work(int *data, int words) {
  int sum = 0;
  for (int i = 0; i < words; ++i)
    sum += data[i];
  data[32 + threadIdx.x] = sum;
}
int main() {
  FILE *file = fopen(RUNS, "r+");
  char words = fgetc(file);
  fseek(file, 0, SEEK_SET);
  char rest[16] = {};
  fread(rest, 1, 15, file);
  rewind(file);
  fputs(rest + 1, file);
  fputs(" ", file);
  fclose(file);
  int *data;
  cudaMalloc(&data, 256);
  cudaMemset(data, 0, 256);
  work<<<1, 32>>>(data, words - '0');
  cudaDeviceSynchronize();
}
"#;

/// Traces a program; each digit of `words` is one run's word count. Returns exit code, output and `counts-equal` check.
fn runs(folder: &Path, words: &str) -> (i32, String, Value) {
    let file = folder.join("runs");
    fs::write(&file, words).unwrap();
    fs::write(folder.join("work.cu"), PROGRAM).unwrap();
    let define = format!("-DRUNS=\"{}\"", file.display());
    let command = ["run", "work.cu", "--backend", "cpu", &define];
    let (code, out, err) = run(superstep(folder).args(command));
    let text = fs::read_to_string(folder.join("out/work/latest/run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let checks = summary["benchmarks"][0]["verification"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == "counts-equal");
    (code, format!("{out}\n{err}"), check.unwrap().clone())
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn counts_that_vary_between_counting_runs_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    // The first two counting runs agree, and the third does not.
    let (code, printed, check) = runs(folder.path(), "22113");
    assert_eq!(code, 0, "{printed}");
    let detail = check["detail"].as_str().unwrap();
    assert!(
        check["warning"] == true && detail.contains("without work,"),
        "{detail}"
    );
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_difference_from_all_counting_runs_is_an_error_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let (code, printed, check) = runs(folder.path(), "221111");
    assert_eq!(code, 7, "{printed}");
    let detail = check["detail"].as_str().unwrap();
    let location = "launch 0 of stream 0 (work), site ";
    assert!(detail.starts_with(location), "{detail}");
    let counts = "(load at work.cu:6): 64 thread accesses traced, 32 counted; 3 more counting runs had the same counts; ";
    assert!(detail.contains(counts), "{detail}");
    assert!(
        detail.contains("`deterministic`") && printed.contains(counts),
        "{printed}"
    );
}
