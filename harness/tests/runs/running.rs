//! Runs that are repeated, retried and limited, on the CPU backend.

use std::fs;

use crate::common::toys::{PROGRAM, suite, summary, write_suite};
use crate::common::{run, superstep};
use serde_json::Value;
use sha2::Digest;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn repeats_retries_and_limits_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let counter = |name: &str| folder.join(name).display().to_string();
    let (varies, flaky) = (
        format!("varies, \"{}\"", counter("v")),
        format!("flaky, \"{}\"", counter("f")),
    );
    write_suite(
        folder,
        &[
            ("steady", "steady", ""),
            ("varies", &varies, ""),
            ("flaky", &flaky, ""),
            ("hungry", "hungry", "memory-limit-mib: 200"),
        ],
    );
    let arguments = ["--repeat", "3", "--retry", "1", "--junit", "ci/junit.xml"];
    let (code, out, err) = run(&mut suite(folder, &arguments));
    assert_eq!(code, 1, "{out}{err}");
    let summary = summary(&folder.join("out/toys/latest"));
    let benchmark = |name: &str| {
        let all = summary["benchmarks"].as_array().unwrap();
        all.iter().find(|entry| entry["name"] == name).unwrap()
    };
    let steady = benchmark("steady");
    assert_eq!(steady["status"], "passed", "{steady}");
    assert_eq!(steady["repeats"]["count"], 3);
    for name in ["native", "traced", "native_kernel", "traced_kernel"] {
        let spread = &steady["repeats"][name];
        let time = |statistic: &str| spread[statistic].as_f64().unwrap();
        assert!(time("min") <= time("median") && time("median") <= time("max"));
        assert_eq!(spread["median"], steady["seconds"][name], "{name}");
    }
    let agree = |entry: &Value| {
        let checks = entry["verification"].as_array().unwrap();
        checks
            .iter()
            .find(|check| check["check"] == "repeats-agree")
            .unwrap()
            .clone()
    };
    assert_eq!(agree(steady)["ok"], true);
    let varies = benchmark("varies");
    assert_eq!(varies["failure"]["kind"], "verification", "{varies}");
    assert_eq!(agree(varies)["ok"], false, "{varies}");
    assert_eq!(
        varies["earlier_attempts"].as_array().unwrap().len(),
        0,
        "a wrong trace is not retried"
    );
    let flaky = benchmark("flaky");
    assert_eq!(flaky["status"], "passed", "{flaky}");
    assert_eq!(flaky["earlier_attempts"][0]["kind"], "run", "{flaky}");
    assert!(out.contains("after 1 failed attempt"), "{out}");
    let hungry = benchmark("hungry");
    assert_eq!(hungry["failure"]["kind"], "memory", "{hungry}");
    assert!(err.contains("used more than 200 MiB of memory"), "{err}");
    let junit = fs::read_to_string(folder.join("ci/junit.xml")).unwrap();
    for part in [
        "tests=\"4\"",
        "failures=\"2\"",
        "type=\"memory\"",
        "flakyFailure",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    // The capture contains the hashes of its sources.
    let (_, out, _) = run(superstep(folder).args([
        "info",
        "--json",
        "out/toys/latest/benchmarks/steady/capture",
    ]));
    let info: Value = serde_json::from_str(&out).unwrap();
    let hash: String = sha2::Sha256::digest(PROGRAM)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        info["header"]["sources"],
        serde_json::json!({ "toy.cu": hash })
    );
}

/// Doubles N values, where N is the first line of its input.
const READER: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void twice(float *numbers, int count) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) numbers[index] *= 2;
}
int main() {
  int count = 0;
  float *device;
  std::FILE *file = std::fopen("graph.txt", "r");
  if (file == nullptr || std::fscanf(file, "%d", &count) != 1) return 2;
  if (cudaMalloc(&device, count * sizeof(float)) != cudaSuccess) return 3;
  cudaMemset(device, 0, count * sizeof(float));
  twice<<<(count + 127) / 128, 128>>>(device, count);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 4;
}
"#;

/// Like `bfs` in the thesis suite, the program uses the original graph if a mirror has it, but its golden results are
/// for the generated graph.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn an_input_from_a_mirror_is_not_compared_with_the_generated_inputs_golden_result() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let original = "100\n";
    let hash: String = sha2::Sha256::digest(original)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let size = format!(
        "{{args: [], inputs: [{{name: graph.txt, data: bfs/graph.txt, sha256: {hash}, \
         generate: {{generator: bfs-graph, seed: 1, parameters: {{nodes: 300, degree: 6}}}}}}]}}"
    );
    crate::common::write_suite(&folder.join("suites"), "{in-tree: true}", &size, READER);
    fs::create_dir_all(folder.join("data/bfs")).unwrap();
    fs::write(folder.join("data/bfs/graph.txt"), original).unwrap();
    let golden = |choices: &[&str]| {
        let (code, out, err) = run(superstep(folder)
            .args([
                "suite",
                "./suites/suite",
                "--backend",
                "cpu",
                "--no-captures",
            ])
            .args(choices));
        let summary = summary(&folder.join("out/toys/latest"));
        let checks = summary["benchmarks"][0]["verification"].as_array().unwrap();
        let mut checks = checks.iter();
        let golden = checks.find(|check| check["check"] == "golden").unwrap();
        (code, golden.clone(), out + &err)
    };
    assert_eq!(golden(&["--bless"]).0, 0);
    let mirror = ["--data-mirror", "data"];
    let (code, check, output) = golden(&mirror);
    assert_eq!(code, 0, "{output}");
    assert_eq!(
        (&check["ok"], &check["not_compared"]),
        (&false.into(), &"other-inputs".into())
    );
    let detail = check["detail"].as_str().unwrap();
    assert!(
        detail.contains("graph.txt with SHA-256") && detail.contains(&hash),
        "{detail}"
    );
    assert!(output.contains("different inputs"), "{output}");
    let (code, ..) = golden(&[mirror[0], mirror[1], "--require-golden"]);
    assert_eq!(code, 1, "a run without a comparison fails");
    assert_eq!(
        golden(&[]).1["ok"],
        true,
        "the generated input is still compared"
    );
}
