//! A single-file program without a manifest, run directly and from a bundle.

use std::fs;
use std::path::Path;

use crate::common::{run, superstep, unwrapped};
use serde_json::Value;

/// Reads numbers from a file, scales them, prints a time, and exits with code 7.
const SCALE: &str = r#"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
__global__ void scale(int *numbers, int count) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) numbers[index] *= FACTOR;
}
int main(int argc, char **argv) {
  FILE *file = fopen("data/numbers.txt", "r");
  if (!file) return perror("data/numbers.txt"), 1;
  int host[256], count = 0, sum = 0, *device;
  while (count < 256 && fscanf(file, "%d", &host[count]) == 1) ++count;
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, count * sizeof(int), cudaMemcpyHostToDevice);
  scale<<<(count + 31) / 32, 32>>>(device, count);
  cudaMemcpy(host, device, count * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < count; ++i) sum += host[i];
  printf("%s: sum %d of %d, %s\n", argv[0], sum, count, argv[1]);
  printf("time %lld\n", (long long)std::chrono::steady_clock::now().time_since_epoch().count());
  return 7;
}
"#;

const OPTIONS: [&str; 13] = [
    "--backend",
    "cpu",
    "-DFACTOR=3",
    "-l",
    "m",
    "--input",
    "data",
    "--exit-code",
    "7",
    "--volatile-lines",
    "^time",
    "--",
    "an argument",
];

fn program(folder: &Path) {
    fs::write(folder.join("scale.cu"), SCALE).unwrap();
    fs::create_dir(folder.join("data")).unwrap();
    let numbers: String = (1..=100).map(|number| format!("{number}\n")).collect();
    fs::write(folder.join("data/numbers.txt"), numbers).unwrap();
}

fn result(latest: &Path) -> Value {
    let text = fs::read_to_string(latest.join("run.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    summary["benchmarks"][0].clone()
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_program_with_files_flags_and_an_exit_code_runs_directly_and_from_a_bundle() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path());
    let (code, out, err) = run(superstep(folder.path())
        .args(["run", "scale.cu"])
        .args(OPTIONS));
    assert_eq!(code, 0, "{out}\n{err}");
    let direct = result(&folder.path().join("out/scale/latest"));
    assert_eq!(direct["threads"]["loads"], 100);
    assert_eq!(
        direct["inputs"][0]["name"], "data/numbers.txt",
        "{direct:#}"
    );
    let printed = folder
        .path()
        .join("out/scale/latest/benchmarks/scale/traced/stdout");
    let printed = fs::read_to_string(printed).unwrap();
    assert!(
        printed.starts_with("scale: sum 15150 of 100, an argument\n"),
        "{printed}"
    );

    // Commands that later read the capture use the names of the program and of its arrays.
    let capture = "out/scale/latest/benchmarks/scale/capture";
    let (_, out, _) = run(superstep(folder.path()).args(["info", capture]));
    assert!(
        out.contains("program       scale.cu an argument\n"),
        "{out}"
    );
    let mut export = superstep(folder.path());
    run(export.args(["export", "--format", "csv", capture, "-o", "exported"]));
    run(superstep(folder.path()).args(["analyse", capture, "-o", "analysed"]));
    for (table, row) in [
        ("exported/allocations.csv", ",device,device,scale.cu,15,"),
        ("analysed/arrays.csv", "\ndevice,scale.cu:15,"),
    ] {
        let text = fs::read_to_string(folder.path().join(table)).unwrap();
        assert!(text.contains(row), "{table}: {text}");
    }

    // The other machine does not have the input file; the bundle contains the source.
    let (code, out, err) = run(superstep(folder.path())
        .args(["bundle", "scale.cu", "--out", "bundle"])
        .args(OPTIONS));
    assert_eq!(code, 0, "{out}\n{err}");
    let programs = folder.path().join("bundle/programs/scale");
    let count = |name: &str| fs::read_dir(programs.join(name)).unwrap().count();
    assert_eq!(count("built"), 1, "all variants share one executable");
    assert_eq!(count("modules"), 6, "each has a list and a shared object");
    let elsewhere = tempfile::tempdir().unwrap();
    let (code, out, err) = run(superstep(elsewhere.path())
        .arg("run-bundle")
        .arg(folder.path().join("bundle")));
    assert_eq!(code, 0, "{out}\n{err}");
    let bundled = result(&elsewhere.path().join("out/scale/latest"));
    assert_eq!(bundled["digest"], direct["digest"]);
    assert_eq!(bundled["launches"], direct["launches"]);
    let tables = elsewhere
        .path()
        .join("out/scale/latest/tables/scale/arrays.csv");
    let arrays = fs::read_to_string(tables).unwrap();
    assert!(arrays.contains("\ndevice,scale.cu:15,"), "{arrays}");
    let sources = elsewhere
        .path()
        .join("out/scale/latest/benchmarks/scale/sources");
    assert!(sources.is_dir(), "the source is stored for the report");
}

/// The last thread runs first, and each of the others polls a word until it is its turn.
const TURNS: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void take_turns(volatile int *turn) {
  int mine = blockDim.x - 1 - threadIdx.x;
  while (*turn != mine) {}
  *turn = mine + 1;
}
int main() {
  int passed, *turn;
  cudaMalloc(&turn, sizeof passed);
  cudaMemset(turn, 0, sizeof passed);
  take_turns<<<1, 96>>>(turn);
  cudaMemcpy(&passed, turn, sizeof passed, cudaMemcpyDeviceToHost);
  return passed != 96;
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn threads_can_wait_for_each_other_by_polling_memory() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("turns.cu"), TURNS).unwrap();
    let (code, out, err) = run(superstep(folder.path())
        .args(["run", "turns.cu", "--backend", "cpu"])
        .args(["--timeout", "60"]));
    assert_eq!(code, 0, "{out}\n{err}");
    let result = result(&folder.path().join("out/turns/latest"));
    assert_eq!(result["threads"]["stores"], 96);
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn missing_options_are_suggested() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path());
    let command = |args: &[&str]| {
        run(superstep(folder.path())
            .args(["run", "--backend", "cpu"])
            .args(args))
    };
    let (code, _, err) = command(&["scale.cu", "-DFACTOR=3"]);
    assert_eq!(code, 10, "{err}");
    assert!(err.contains("data/numbers.txt: No such file"), "{err}");
    assert!(err.contains("hint: ") && err.contains("--input"), "{err}");
    // The program prints the time. Two untraced runs differ in that line, so it is not compared.
    let (code, out, err) = command(&[
        "scale.cu",
        "-DFACTOR=3",
        "--input",
        "data",
        "--exit-code=7",
        "--",
        "x",
    ]);
    assert_eq!(code, 0, "{out}\n{err}");
    let warning = "without one line, in which two untraced runs differ";
    assert!(unwrapped(&out).contains(warning), "{out}\n{err}");
    let (code, _, err) = command(&["scale.cu", "5000"]);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("after `--`"), "{err}");
    let (code, _, err) = command(&["scale.cu", "--input", "nothing"]);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("failed to read nothing"), "{err}");
    let (code, _, err) = command(&["data/numbers.txt"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("expected .cu"), "{err}");
}

/// Two CTAs of 32 threads use functions that only nvcc provides: its built-in atomics, and stores with cache hints.
const NVCC_ONLY: &str = r#"
#include <cstdio>
__global__ void use(unsigned *u, float *f, unsigned long long *w, float4 *v, char *bytes) {
  unsigned i = threadIdx.x;
  __nv_atomic_fetch_add(u, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_fetch_max(u + 1, i, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
  __nv_atomic_add(f, 0.5f, __NV_ATOMIC_RELAXED);
  unsigned long long none = 0;
  __nv_atomic_compare_exchange_n(w, &none, 7, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __stcs(v + i, make_float4(1, 2, 3, i));
  __stwt(bytes + i, (char)i);
}
int main() {
  char *memory;
  cudaMallocManaged(&memory, 4096);
  cudaMemset(memory, 0, 4096);
  auto u = (unsigned *)memory;
  auto f = (float *)(memory + 64);
  auto w = (unsigned long long *)(memory + 128);
  auto v = (float4 *)(memory + 1024);
  char *bytes = memory + 256;
  bytes[32] = 99;
  use<<<2, 32>>>(u, f, w, v, bytes);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::printf("%u %u %g %llu %g %d %d\n", u[0], u[1], *f, *w, v[31].w, bytes[31], bytes[32]);
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn nvcc_declarations_compile_and_keep_their_widths() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("use.cu"), NVCC_ONLY).unwrap();
    let words = ["run", "use.cu", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    let latest = folder.path().join("out/use/latest");
    let printed = fs::read_to_string(latest.join("benchmarks/use/traced/stdout")).unwrap();
    // The byte after the last stored byte is unchanged.
    assert_eq!(printed, "64 31 32 7 31 31 99\n");
    let threads = &result(&latest)["threads"];
    assert_eq!(
        (&threads["stores"], &threads["atomics"]),
        (&128.into(), &256.into())
    );
}

/// Includes only `stdio.h`, which does not declare `new`. Each thread performs 4 stores and does not load the values.
const DEVICE_HEAP: &str = r#"
#include <stdio.h>
struct Point { int x, y; __device__ Point(int a) : x(a), y(2 * a) {} };
__global__ void use(int *out) {
  Point *p = new Point(threadIdx.x);
  int *a = new int[4];
  a[threadIdx.x % 4] = p->y;
  out[threadIdx.x] = p->x + a[threadIdx.x % 4];
  delete[] a;
  delete p;
}
int main() {
  int *d, h[32], bad = 0;
  cudaMalloc(&d, sizeof h);
  use<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; ++i) bad += h[i] != 3 * i;
  printf("bad %d\n", bad);
  return bad;
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn device_heap_operators_need_no_header() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("heap.cu"), DEVICE_HEAP).unwrap();
    let words = ["run", "heap.cu", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    let threads = &result(&folder.path().join("out/heap/latest"))["threads"];
    assert_eq!(threads["stores"], 128);
}

/// A kernel without cluster dimensions has clusters of one CTA; clusters of two CTAs need a GPU.
const CLUSTERS: &str = r#"
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__device__ int ask(int *shared) {
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) *shared = blockIdx.x + 5;
  cluster.sync();
  int value = *cluster.map_shared_rank(shared, 0) + 100 * cluster.num_blocks() + 1000 * cluster.query_shared_rank(shared);
  cluster.sync();
  return value;
}
__global__ void single(int *out) { __shared__ int own; out[blockIdx.x] = ask(&own); }
__global__ void __cluster_dims__(2, 1, 1) pair(int *out) { __shared__ int own; out[blockIdx.x] = ask(&own); }
int main(int arguments, char **) {
  int *d, h[2];
  cudaMalloc(&d, sizeof h);
  if (arguments > 1) pair<<<2, 32>>>(d); else single<<<2, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  return !(h[0] == 105 && h[1] == 106);
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_launched_kernel_that_needs_clusters_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("clusters.cu"), CLUSTERS).unwrap();
    let words = ["run", "clusters.cu", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    let (code, _, err) = run(superstep(folder.path()).args(words).args(["--", "pair"]));
    assert_eq!(code, 10, "{err}");
    let reason = "the kernel pair runs in clusters of CTAs, which the CPU backend does not support";
    assert!(err.contains(reason), "{err}");
}

/// NVTX 3 is header-only; without a profiler, its calls do nothing.
const NVTX: &str = r#"
#include <cstdio>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvtx3.hpp>
__global__ void fill(int *numbers) { numbers[threadIdx.x] = threadIdx.x; }
struct phases { static constexpr char const *name = "phases"; };
int main() {
  NVTX3_FUNC_RANGE();
  nvtx3::scoped_range_in<phases> range{"fill", nvtx3::rgb{1, 2, 3}};
  nvtxRangePushA("fill");
  int *numbers;
  cudaMalloc(&numbers, 256);
  fill<<<1, 64>>>(numbers);
  nvtxRangePop();
  nvtxMarkA("filled");
  std::printf("%d\n", cudaDeviceSynchronize());
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn nvtx_ranges_compile_and_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nvtx.cu"), NVTX).unwrap();
    let words = ["build", "--", "nvcc", "nvtx.cu", "-o", "app"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    for (program, name) in [("nvtx.cu", "nvtx"), ("app", "app")] {
        let words = ["run", program, "--backend", "cpu"];
        let (code, out, err) = run(superstep(folder.path()).args(words));
        assert_eq!(code, 0, "{out}\n{err}");
        let benchmark = result(&folder.path().join("out").join(name).join("latest"));
        assert_eq!(benchmark["threads"]["stores"], 64, "{benchmark:#}");
    }
}

/// Recursion 4,000 levels deep, in threads that also wait for each other.
const DEEP: &str = r#"
#include <cuda_runtime.h>
#include <cstdio>
__device__ __noinline__ int sum(int n, volatile int *step) {
  volatile int frame[16];
  frame[n & 15] = n;
  return n == 0 ? 0 : sum(n - *step, step) + frame[n & 15];
}
__global__ void deep(int *step, int *sums) {
  __shared__ int shared[32];
  shared[threadIdx.x] = sum(4000, step);
  __syncthreads();
  sums[threadIdx.x] = shared[31 - threadIdx.x];
}
int main() {
  int *numbers, one = 1, last = 0;
  cudaDeviceSetLimit(cudaLimitStackSize, 500 << 10);
  cudaMalloc(&numbers, 33 * sizeof(int));
  cudaMemcpy(numbers, &one, sizeof one, cudaMemcpyHostToDevice);
  deep<<<1, 32>>>(numbers, numbers + 1);
  cudaMemcpy(&last, numbers + 32, sizeof last, cudaMemcpyDeviceToHost);
  std::printf("%d %d\n", cudaDeviceSynchronize(), last);
  return last != 8002000;
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn thread_stacks_have_the_configured_size() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("deep.cu"), DEEP).unwrap();
    let (code, out, err) =
        run(superstep(folder.path()).args(["run", "deep.cu", "--backend", "cpu"]));
    assert_eq!(code, 0, "{out}\n{err}");
}

/// Math functions on the host and on the device, without a header that declares them.
const OVERLOADS: &str = r#"
__host__ __device__ constexpr int sizes() {
  return sizeof(exp(1.0f)) + sizeof(sqrt(1.0f)) + sizeof(exp10(1.0f)) + sizeof(j0(1.0f)) + sizeof(fabs(1.0f)) + sizeof(abs(1.0f)) + sizeof(atan2(1.0f, 1.0f)) + sizeof(pow(1.0f, 1.0f));
}
static_assert(sizes() == 32, "functions of floats return floats");
static_assert(sizeof(exp(1.0)) == 8 && sizeof(pow(1.0f, 2)) == 8, "all others return doubles");
__global__ void compute(double *numbers, float step, int power) {
  static_assert(sizeof(pow(step, power)) == 8, "integers are converted to doubles");
  numbers[0] = sqrt(step);
  numbers[1] = pow(step, power) - pow((double)step, (double)power);
  numbers[2] = pow((double)step, power) - pow((double)step, (double)power);
}
int main() {
  double *numbers, found[3];
  float step = 0.1f;
  cudaMalloc(&numbers, sizeof found);
  compute<<<1, 1>>>(numbers, step, 7);
  cudaMemcpy(found, numbers, sizeof found, cudaMemcpyDeviceToHost);
  return !(found[0] == sqrtf(step) && found[1] == 0 && found[2] == 0);
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn math_functions_are_overloaded_without_a_header() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("overloads.cu"), OVERLOADS).unwrap();
    let words = ["run", "overloads.cu", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
}

/// Compiles only with the flags that its test passes, and loads bytes that were never written.
const UNSET: &str = r#"
#include <cuda_runtime.h>
#if __cplusplus < 202002L
#error "-std=c++20 is missing"
#endif
#if !defined(__CUDA_ARCH__) && defined(__OPTIMIZE__)
#error "-O0 is missing"
#endif
__global__ void copy(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }
int main() {
  int *from, *to;
  cudaMalloc(&from, 128);
  cudaMalloc(&to, 128);
  copy<<<1, 32>>>(from, to);
  return cudaDeviceSynchronize() != cudaSuccess;
}
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn quiet_prints_one_document_and_verbose_each_step_and_both_can_fail_on_warnings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("unset.cu"), UNSET).unwrap();
    let flags = "run unset.cu -O0 -std=c++20 -arch=sm_80 -g --backend cpu";
    let superstep = |more: &str| {
        let words = flags.split(' ').chain(more.split_whitespace());
        run(superstep(folder.path()).args(words))
    };
    let (code, out, err) = superstep("-q --json");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["benchmarks"][0]["status"], "passed");
    let (code, _, err) = superstep("-v --fail-on-warning");
    assert_eq!(code, 12, "{err}");
    assert!(
        err.contains("building: ") && err.contains("(cached)"),
        "{err}"
    );
    assert_eq!(superstep("--fail-on-warning=initialised-reads").0, 12);
    assert_eq!(superstep("--fail-on-warning=shared-memory").0, 0);
    let (code, out, _) =
        run(crate::common::superstep(folder.path()).args(["info", "out/unset/latest"]));
    assert_eq!(code, 0, "{out}");
}
