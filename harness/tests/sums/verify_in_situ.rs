//! In-situ runs on the CPU backend, compared with traces of the same programs.

use std::fs;
use std::path::Path;

use crate::common::{run, superstep, unwrapped};
use serde_json::Value;

fn benchmarks(latest: &Path) -> Vec<Value> {
    let text = fs::read_to_string(latest.join("run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    summary["benchmarks"].as_array().unwrap().clone()
}

/// Returns the only check with this name.
fn check<'a>(benchmark: &'a Value, name: &str) -> &'a Value {
    let checks = benchmark["verification"].as_array().unwrap();
    let mut named = checks.iter().filter(|check| check["check"] == name);
    let check = named
        .next()
        .unwrap_or_else(|| panic!("{name}: {checks:#?}"));
    assert!(named.next().is_none(), "{name} twice");
    check
}

fn rows(latest: &Path, benchmark: &str, table: &str) -> Vec<Value> {
    let path = latest.join(format!("tables/{benchmark}/{table}.json"));
    let table: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    table["rows"].as_array().unwrap().clone()
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn the_thesis_suite_in_situ_equals_its_traces() {
    let folder = tempfile::tempdir().unwrap();
    let suite = ["suite", "thesis", "--size", "tiny", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder.path())
        .args(suite)
        .args(["--in-situ", "--verify-in-situ"]));
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(out.contains("in situ, added up while kernels ran"), "{out}");
    let latest = folder.path().join("out/thesis/latest");
    let benchmarks = benchmarks(&latest);
    assert_eq!(benchmarks.len(), 6);
    for benchmark in &benchmarks {
        let name = benchmark["name"].as_str().unwrap();
        assert_eq!(
            (
                &benchmark["status"],
                &benchmark["in_situ"],
                &benchmark["digest"]
            ),
            (&"passed".into(), &true.into(), &Value::Null),
            "{name}"
        );
        for wanted in ["sums-consistent", "counts-equal", "golden", "in-situ-equal"] {
            let check = check(benchmark, wanted);
            assert_eq!(check["ok"], true, "{name}: {check}");
        }
        let equal = check(benchmark, "in-situ-equal")["detail"]
            .as_str()
            .unwrap();
        let deterministic = benchmark["deterministic"].as_bool().unwrap();
        assert_eq!(
            equal.contains(" transfers"),
            deterministic,
            "{name}: {equal}"
        );
        assert!(!rows(&latest, name, "transfer-size").is_empty(), "{name}");
        assert_eq!(rows(&latest, name, "stride"), [0; 0], "{name}");
        let recorded = latest.join(format!("benchmarks/{name}/recorded/capture"));
        assert!(!recorded.exists(), "{}", recorded.display());
    }
    let page = fs::read_to_string(latest.join("index.html")).unwrap();
    assert!(page.contains("Strides (figure 6.5) need a trace"));
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn transfers_between_blocks_equal_the_traces_sums() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = superstep(folder.path());
    command.args(["suite", "thesis", "--size", "tiny", "--backend", "cpu"]);
    command.args(["--only", "hs2d,path", "--in-situ", "--verify-in-situ"]);
    let (code, out, err) = run(command.args(["--cta-blocks", "4"]));
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(
        out.contains("note: hs2d, path: in situ (transfers between blocks of 4 CTAs)"),
        "{out}"
    );
    let latest = folder.path().join("out/thesis/latest");
    for benchmark in &benchmarks(&latest) {
        assert_eq!(benchmark["cta_blocks"], 4);
        let equal = check(benchmark, "in-situ-equal");
        assert_eq!(equal["ok"], true, "{equal}");
        let detail = equal["detail"].as_str().unwrap();
        assert!(detail.ends_with("(blocks of 4 CTAs)"), "{detail}");
    }
    let page = fs::read_to_string(latest.join("index.html")).unwrap();
    assert!(page.contains("between blocks of 4 CTAs") && page.contains("hs2d (blocks of 4 CTAs)"));
    assert!(!latest.join("tables/claims.csv").exists());
    let (code, _, err) =
        run(superstep(folder.path()).args(["suite", "thesis", "--in-situ", "--cta-blocks", "48"]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("a power of two, from 2 to 2^26"), "{err}");
}

/// All CTAs add to the same words, which the next launch reads, so the number of writers of a word is unknown.
const SHARED_WORDS: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void add(int *sums) { atomicAdd(&sums[threadIdx.x], 1); }
__global__ void take(const int *sums, int *out) {
  out[blockIdx.x * 32 + threadIdx.x] = sums[threadIdx.x];
}
int main() {
  int *sums, *out;
  cudaMalloc(&sums, 128);
  cudaMalloc(&out, 512);
  cudaMemset(sums, 0, 128);
  add<<<4, 32>>>(sums);
  take<<<4, 32>>>(sums, out);
  puts(cudaDeviceSynchronize() == cudaSuccess ? "done" : "failed");
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn bounds_of_words_with_multiple_writers_contain_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("writers.cu"), SHARED_WORDS).unwrap();
    let (code, out, err) = run(superstep(folder.path())
        .args(["run", "writers.cu", "--backend", "cpu"])
        .args(["--in-situ", "--verify-in-situ"]));
    assert_eq!(code, 0, "{out}\n{err}");
    let latest = folder.path().join("out/writers/latest");
    let benchmarks = benchmarks(&latest);
    let equal = check(&benchmarks[0], "in-situ-equal");
    assert_eq!(
        (&equal["ok"], &equal["warning"]),
        (&true.into(), &true.into())
    );
    let bounds = rows(&latest, "writers", "bounds");
    let bounds_of = |quantity: &str| {
        let row = bounds.iter().find(|row| row["quantity"] == quantity);
        let row = row.unwrap_or_else(|| panic!("{quantity}: {bounds:#?}"));
        ["superstep", "at_least", "at_most"].map(|column| row[column].as_u64().unwrap())
    };
    // Each of 4 CTAs receives 128 bytes from one to four CTAs; at least 128 of 512 bytes were communicated.
    assert_eq!(bounds_of("received_bytes"), [1, 512, 2048]);
    assert_eq!(bounds_of("communicated_stored_bytes"), [0, 128, 512]);
    let between = &benchmarks[0]["communication"]["communicated_bytes_between"];
    assert_eq!(
        (&between["least"], &between["most"]),
        (&128.into(), &512.into())
    );
    // 1024 bytes are stored in total.
    assert!(
        unwrapped(&out).contains("12.5 %–50.0 % of the stored bytes"),
        "{out}"
    );
}

/// Four host threads start at the same time. Each creates its own stream, in which it launches one to four CTAs at a
/// time; two of them also launch in the default stream.
const THREADS: &str = r#"
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>
#include <cuda_runtime.h>
__global__ void step(int *data, int add) { data[blockIdx.x * blockDim.x + threadIdx.x] += add; }
__global__ void turn(const int *data, int *out) { out[threadIdx.x] = data[(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x]; }
std::atomic<int> gate{0}, wrong{0};
void work(int number) {
  ++gate;
  while (gate.load() < 4) {}
  cudaStream_t stream;
  int *data, *out, host[32];
  const int ctas = number + 1;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMalloc(&data, ctas * 128);
  cudaMalloc(&out, 128);
  cudaMemsetAsync(data, 0, ctas * 128, stream);
  for (int i = 0; i < 5; ++i) {
    step<<<ctas, 32, 0, stream>>>(data, number + 1);
    if (number < 2) cudaStreamSynchronize(stream), turn<<<1, 32>>>(data, out);
    else turn<<<1, 32, 0, stream>>>(data, out);
  }
  cudaDeviceSynchronize();
  cudaMemcpy(host, out, 128, cudaMemcpyDeviceToHost);
  for (int v : host) wrong += v != 5 * (number + 1);
}
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (auto &thread : threads) thread.join();
  std::printf("wrong %d\n", wrong.load());
  return wrong.load();
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn launches_of_host_threads_are_paired_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("threads.cu"), THREADS).unwrap();
    for options in [&["--in-situ", "--verify-in-situ"][..], &[]] {
        for _ in 0..3 {
            let command = ["run", "threads.cu", "--backend", "cpu"];
            let (code, out, err) = run(superstep(folder.path()).args(command).args(options));
            assert_eq!(code, 0, "{out}\n{err}");
            let latest = folder.path().join("out/threads/latest");
            let benchmarks = benchmarks(&latest);
            // There are 5 launches each of 1 to 4 CTAs, and 20 launches of one CTA.
            let threads = &benchmarks[0]["threads"];
            let expected = 32 * (5 * (1 + 2 + 3 + 4) + 20);
            assert_eq!(
                (&threads["loads"], &threads["stores"]),
                (&expected.into(), &expected.into())
            );
            assert_eq!(
                check(&benchmarks[0], "counts-equal")["warning"],
                Value::Null
            );
        }
    }
}

/// Each of 128 threads stores two words, loads one, and adds to one.
const GRID_SYNC: &str = r#"
#include <cooperative_groups.h>
#include <cstdio>
__global__ void turn(int *a, int *b, int *sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = i;
  cooperative_groups::this_grid().sync();
  b[i] = a[(i + 32) % n];
  atomicAdd(sum, 1);
}
int main() {
  int n = 128, *a, *b, *sum, host;
  cudaMalloc(&a, 512), cudaMalloc(&b, 512), cudaMalloc(&sum, 4), cudaMemset(sum, 0, 4);
  void *arguments[] = {&a, &b, &sum, &n};
  cudaLaunchCooperativeKernel((void *)turn, dim3(4), dim3(32), arguments, 0, nullptr);
  cudaMemcpy(&host, sum, 4, cudaMemcpyDeviceToHost);
  printf("%d\n", host);
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_grid_barrier_is_counted_neither_in_a_trace_nor_in_situ() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sync.cu"), GRID_SYNC).unwrap();
    for options in [&["--in-situ", "--verify-in-situ"][..], &[]] {
        let command = ["run", "sync.cu", "--backend", "cpu"];
        let (code, out, err) = run(superstep(folder.path()).args(command).args(options));
        assert_eq!(code, 0, "{out}\n{err}");
        let all = benchmarks(&folder.path().join("out/sync/latest"));
        let value = |name: &str, key: &str| all[0][name][key].as_u64().unwrap();
        let threads = ["loads", "stores", "atomics"].map(|key| value("threads", key));
        assert_eq!(threads, [128, 256, 128]);
        let bytes = ["loaded", "stored", "atomic"].map(|key| value("bytes", key));
        assert_eq!(bytes, [512, 1024, 512]);
        let stored = value("communication", "stored_bytes");
        assert_eq!(stored, bytes[1] + bytes[2], "stores and atomics");
    }
}
