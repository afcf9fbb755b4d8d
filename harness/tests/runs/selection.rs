//! Recording part of a program on the CPU backend: only the selection is recorded, and results are marked as partial.

use std::fs;
use std::path::Path;

use crate::common::{run, superstep, unwrapped, write_suite};
use serde_json::Value;

/// Two kernels, one with a barrier, launched alternately, twenty times each, with 40 CTAs of 32 threads.
const TURNS: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void twice(float *numbers) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  numbers[index] *= 2;
}
__global__ void turned(float *numbers) {
  __shared__ float tile[32];
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = numbers[index];
  __syncthreads();
  numbers[index] = tile[31 - threadIdx.x];
  if (blockIdx.x % 2) numbers[index] += numbers[index ^ 1] * 0;
}
int main() {
  const int count = 40 * 32;
  float host[count], *device;
  for (int i = 0; i < count; ++i) host[i] = i;
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  for (int i = 0; i < 20; ++i) {
    twice<<<40, 32>>>(device);
    turned<<<40, 32>>>(device);
  }
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[77]);
}
"#;

/// Runs the benchmark with `options` and returns its record.
fn traced(folder: &Path, options: &[&str]) -> Value {
    let (code, out, err) = run(superstep(folder)
        .args(["run", "suite/toy.cu", "--backend", "cpu"])
        .args(options));
    assert_eq!(code, 0, "{options:?}\n{out}\n{err}");
    let text = fs::read_to_string(folder.join("out/toy/latest/run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let toy = summary["benchmarks"][0].clone();
    assert_eq!(toy["status"], "passed");
    if !options.is_empty() {
        assert!(unwrapped(&out).contains("note partial: "), "{out}");
        let page = fs::read_to_string(folder.join("out/toy/latest/index.html")).unwrap();
        assert!(page.contains("partial: "), "the report also says so");
        let checks = toy["verification"].as_array().unwrap();
        let last = match toy["in_situ"] == true {
            true => "in-situ-equal",
            false => "launch-totals",
        };
        for name in ["inside-selection", "counts-equal", "output-equal", last] {
            let is_named = |check: &&Value| check["check"] == name;
            let check = checks.iter().find(is_named).unwrap();
            assert_eq!(check["ok"], true, "{options:?}: {check}");
        }
    }
    toy
}

fn loads(toy: &Value) -> u64 {
    toy["threads"]["loads"].as_u64().unwrap()
}

fn part(toy: &Value, what: &str) -> [u64; 3] {
    let part = &toy["selection"][what];
    ["program", "scope", "recorded"].map(|key| part[key].as_u64().unwrap())
}

/// Returns the estimate for all thread loads: the total, its standard error and its confidence interval.
fn estimated_loads(toy: &Value) -> (f64, f64, [f64; 2]) {
    let estimates = toy["selection"]["estimates"].as_array().unwrap();
    let is_total = |line: &&Value| line["kernel"].is_null() && line["quantity"] == "loads";
    let line = estimates.iter().find(is_total).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let interval = [number(&line["interval"][0]), number(&line["interval"][1])];
    (
        number(&line["total"]),
        number(&line["standard_error"]),
        interval,
    )
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_part_of_a_program_is_recorded_and_totals_are_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_suite(folder, "{in-tree: true}", "{args: []}", TURNS);
    let complete = traced(folder, &[]);
    assert!(complete["selection"].is_null());
    let all_loads = loads(&complete);

    let skipped = traced(
        folder,
        &[
            "--kernel",
            "twice",
            "--launch-skip",
            "2",
            "--launch-count",
            "3",
        ],
    );
    assert_eq!(
        (loads(&skipped), part(&skipped, "launches")),
        (3 * 1280, [40, 3, 3])
    );
    assert_eq!(part(&skipped, "ctas"), [1600, 120, 120]);

    let corner = traced(folder, &["--ctas", "0-3,39", "--kernel", "regex:^tw"]);
    assert_eq!(
        (loads(&corner), part(&corner, "ctas")),
        (20 * 5 * 32, [1600, 100, 100])
    );

    // Even and odd CTAs differ, so the estimate has an error; its confidence interval contains the true value.
    let ctas = traced(folder, &["--sample-ctas", "0.4", "--sample-seed", "5"]);
    let (total, error, [low, high]) = estimated_loads(&ctas);
    assert!(loads(&ctas) < all_loads * 7 / 10 && error > 0.0);
    let truth = all_loads as f64;
    assert!(
        (low..=high).contains(&truth),
        "{truth} in {low} to {high}, estimate {total}"
    );
    let again = traced(folder, &["--sample-ctas", "0.4", "--sample-seed", "5"]);
    assert_eq!(
        again["digest"], ctas["digest"],
        "the same seed gives the same sample"
    );

    // All launches of a kernel are identical, so an estimate from a sample of them has no error.
    let launches = traced(folder, &["--sample-launches", "0.5"]);
    let [program, scope, recorded] = part(&launches, "launches");
    assert!(
        program == 40 && scope == 40 && (16..40).contains(&recorded),
        "{recorded}"
    );
    let (total, error, _) = estimated_loads(&launches);
    assert_eq!((total, error), (truth, 0.0));

    let capture = folder.join("out/toy/latest/benchmarks/toy/capture");
    let (code, out, err) = run(superstep(folder).arg("verify").arg(&capture));
    assert!(
        code == 0 && out.contains("inside-selection: holds"),
        "{out}{err}"
    );
    let (_, out, _) = run(superstep(folder).arg("info").arg(&capture));
    assert!(out.contains("PARTIAL"), "{out}");
}

/// Returns the program's table of volumes per launch.
fn volumes(folder: &Path) -> String {
    let table = "out/toy/latest/tables/toy/communication-by-launch.csv";
    fs::read_to_string(folder.join(table)).unwrap()
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_part_has_the_same_sums_in_situ_as_in_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_suite(folder, "{in-tree: true}", "{args: []}", TURNS);
    for options in [
        &["--kernel", "twice", "--ctas", "0-3,39"][..],
        &["--launch-skip", "5", "--launch-count", "30"],
        &["--sample-launches", "0.5", "--sample-seed", "3"],
        &["--launch-skip", "1", "--sample-ctas", "0.4"],
        &["--kernel", "none"],
    ] {
        let trace = traced(folder, options);
        let recorded = volumes(folder);
        let in_situ = [options, &["--in-situ", "--verify-in-situ"]].concat();
        let mut sums = traced(folder, &in_situ);
        assert_eq!(sums["in_situ"], true);
        assert_eq!(volumes(folder), recorded, "{options:?}");
        if options.contains(&"--sample-ctas") {
            let selection = sums["selection"].as_object_mut().unwrap();
            let why = selection.remove("no_estimates").unwrap();
            assert!(why.as_str().unwrap().contains("--sample-launches"));
            let replaced =
                selection.insert("estimates".into(), trace["selection"]["estimates"].clone());
            assert_eq!(replaced, Some(Value::Array(Vec::new())));
            let page = fs::read_to_string(folder.join("out/toy/latest/index.html")).unwrap();
            assert!(page.contains("none: sums of individual CTAs need a trace"));
        }
        for key in ["selection", "threads", "bytes", "communication", "kernels"] {
            assert_eq!(sums[key], trace[key], "{options:?}: {key}");
        }
    }
}

#[test]
fn invalid_selections_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for (options, expected) in [
        (
            ["--kernel", "regex:("],
            "for '--kernel <PATTERN>': failed to read",
        ),
        (
            ["--ctas", "7-3"],
            "expected a range that does not end before it starts",
        ),
        (["--sample-ctas", "2"], "expected a share between"),
        (["--sample-launches", "a"], "expected a share between"),
    ] {
        let (code, _, err) = run(superstep(folder.path())
            .args(["suite", "thesis", "--backend", "cpu"])
            .args(options));
        assert!(
            code == 2 && err.contains(expected),
            "{options:?}: {code} {err}"
        );
    }
}
