//! Warnings about reads of unwritten memory, and options that choose what figures show.

use std::fs;

use crate::common::{run, superstep, unwrapped};
use serde_json::Value;

/// Eight CTAs fill the first half of an array; eight others read the whole array.
const HALF: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void fill(int *numbers) {
  numbers[blockIdx.x * 4 + threadIdx.x] = threadIdx.x;
}
__global__ void add(const int *numbers, int *sums) {
  int index = blockIdx.x * 4 + threadIdx.x;
  sums[index] = numbers[index] + numbers[index + 32];
}
int main() {
  int *numbers, *sums;
  cudaMalloc(&numbers, 64 * sizeof(int));
  cudaMalloc(&sums, 32 * sizeof(int));
  fill<<<8, 4>>>(numbers);
  add<<<8, 4>>>(numbers, sums);
  cudaDeviceSynchronize();
  puts("done");
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_run_warns_about_unwritten_memory_and_draws_chosen_ctas() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("half.cu"), HALF).unwrap();
    let choices = ["--density-ctas", "2-5", "--link-bandwidth", "45"];
    let (code, out, err) = run(superstep(folder.path())
        .args(["run", "half.cu", "--backend", "cpu"])
        .args(choices));
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(!err.contains(": 0.00 s"), "{err}");
    let warning = "kernel add reads 128 bytes of numbers that nothing has written: half.cu:9, allocated at half.cu:13";
    assert!(
        unwrapped(&out).contains(&format!("warning {warning}")),
        "{out}"
    );

    let latest = folder.path().join("out/half/latest");
    let text = fs::read_to_string(latest.join("run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["matching"], "bytes");
    let checks = summary["benchmarks"][0]["verification"].as_array().unwrap();
    let check = checks
        .iter()
        .find(|check| check["check"] == "initialised-reads");
    let check = check.unwrap_or_else(|| panic!("{checks:#?}"));
    assert_eq!(
        (&check["ok"], &check["warning"]),
        (&true.into(), &true.into())
    );
    assert_eq!(check["detail"], warning);

    let table = |name: &str| -> Vec<Value> {
        let text = fs::read_to_string(latest.join(format!("tables/half/{name}.json"))).unwrap();
        let table: Value = serde_json::from_str(&text).unwrap();
        table["rows"].as_array().unwrap().clone()
    };
    // Each CTA reads the four words that the CTA with the same index filled.
    let part = || -> Vec<_> {
        let rows = table("density")
            .into_iter()
            .filter(|row| row["map"] == "part");
        let numbers = [
            "first_source",
            "source",
            "first_receiver",
            "receiver",
            "count",
        ];
        rows.map(|row| numbers.map(|name| row[name].as_u64().unwrap()))
            .collect()
    };
    assert_eq!(part(), [0, 1, 2, 3].map(|cta| [2, cta, 2, cta, 4]));
    let drawing = latest.join("figures/density-part.svg");
    assert!(
        fs::read_to_string(&drawing)
            .unwrap()
            .contains("source CTA, 2 to 5")
    );
    let links = || {
        table("scaling")
            .iter()
            .map(|row| row["link_gb_per_s"].clone())
            .collect::<Vec<_>>()
    };
    assert!(links().iter().all(|link| *link == 45.0), "{:?}", links());

    // The figures can be redrawn from the tables, without the capture.
    fs::remove_dir_all(latest.join("benchmarks/half/capture")).unwrap();
    let redraw = |choices: &[&str]| {
        run(superstep(folder.path())
            .arg("figures")
            .arg(&latest)
            .args(choices))
    };
    assert_eq!(redraw(&[]).0, 0);
    let (code, _, err) = redraw(&["--reproduction", "."]);
    assert_eq!(code, 2, "{err}");
    let message = "the run used suite half and size run; run all six programs";
    assert!(err.contains(message), "{err}");
    for (choices, message) in [
        (["--density-ctas", "9-3"], "9-3 ends before it starts"),
        (
            ["--link-bandwidth", "0"],
            "expected a number of GB/s above 0",
        ),
    ] {
        let (code, _, err) = run(superstep(folder.path())
            .args(["run", "half.cu"])
            .args(choices));
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(message), "{err}");
    }
}
