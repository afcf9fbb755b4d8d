//! On the CPU backend, misaligned addresses end the launch, as on a GPU, and launches with CTAs larger than the kernel
//! allows fail.

use crate::common::{root, run, superstep};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each kernel is named after how it runs or what it accesses; the access is on a line marked `HERE`.
const PROGRAM: &str = r#"
#include <cstdio>
#include <cstring>
#include <string>
struct Pair { long n; int *p; };
__device__ __noinline__ int load(const int *p) { return *p; } // HERE function
// Clang assumes byte alignment if it sees an array of bytes.
template <typename T> __device__ T at(const char *p) {
  return *(const T *)p; // HERE at
}
__global__ void good(int *p) { p[threadIdx.x] = 7; }
__global__ void loops(char *p, int *out) {
  out[threadIdx.x] = *(int *)(p + 4 * threadIdx.x); // HERE loops
}
__global__ void member(Pair pair, int *out) {
  pair.p[threadIdx.x] = 1; // HERE member
}
__global__ void rows(int **rows, int *out) {
  out[threadIdx.x] = rows[threadIdx.x][0]; // HERE rows
}
__global__ void bytes(char *p, int *out) {
  *(int *)(p + threadIdx.x) = 1; // HERE bytes
}
__global__ void regions(char *p, int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x] + *(int *)(p + 4 * threadIdx.x); // HERE regions
}
__global__ void fibers(char *p, int *out) {
  int sum = *(int *)(p + 4 * threadIdx.x); // HERE fibers
  out[threadIdx.x] = __shfl_xor_sync(~0u, sum, 1);
}
__global__ void vector(float4 *p, int *out) {
  p[threadIdx.x] = make_float4(1, 2, 3, 4); // HERE vector
}
__global__ void atomics(char *p, int *out) {
  atomicAdd((int *)p, 1); // HERE atomics
}
__global__ void function(char *p, int *out) { out[threadIdx.x] = load((int *)p); }
__global__ void ptx(char *p, int *out) {
  asm volatile("st.global.v2.u32 [%0], {%1, %1};" :: "l"(p), "r"(1) : "memory"); // HERE ptx
}
__global__ void copied(char *p, int *out) {
  __shared__ int s[64];
  unsigned to = __cvta_generic_to_shared(s + threadIdx.x);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.wait_all;" :: "r"(to), "l"(p + 1) : "memory"); // HERE copied
  out[threadIdx.x] = s[threadIdx.x];
}
// Only the first eight lanes provide a row address.
__global__ void matrices(int by, int *out) {
  __shared__ __align__(16) char s[1024];
  s[threadIdx.x] = 1;
  __syncthreads();
  unsigned lane = threadIdx.x % 32, n;
  unsigned from = __cvta_generic_to_shared(s + 16 * lane) + (lane < 8 ? by : 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(n) : "r"(from) : "memory");
  out[threadIdx.x] = n;
}
__global__ void tile(char *p, int *out) {
  unsigned r[8];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], 16;" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "l"(p) : "memory"); // HERE tile
  out[threadIdx.x] = r[0] + r[7];
}
__global__ void sums(char *p, int *out) {
  asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%0], {%1, %1, %1, %1, %1, %1, %1, %1}, 16;" :: "l"(p), "f"(1.f) : "memory"); // HERE sums
}
__global__ void shared(int by, int *out) {
  __shared__ char s[300];
  s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = at<short>(s + by * threadIdx.x);
}
__global__ void local(int by, int *out) {
  char s[32];
  for (int i = 0; i < 32; ++i) s[i] = i * by;
  out[threadIdx.x] = at<int>(s + by + (threadIdx.x & 3));
}
// Compares an odd address, but does not access it.
__global__ void unused(int *p, int *out) { out[threadIdx.x] = p == (int *)1 ? 5 : p[threadIdx.x]; }
__global__ void packed(char *p, int *out) { int n; memcpy(&n, p + 1, 4); out[threadIdx.x] = n; }
__global__ void __launch_bounds__(32) bounded(int *out) { out[threadIdx.x] = 1; }

int main(int argc, char **argv) {
  std::string mode = argv[1];
  char *p; int *out, *row, **table; cudaStream_t stream; cudaEvent_t event;
  cudaMalloc(&p, 4096), cudaMalloc(&out, 4096), cudaMalloc(&table, 64 * sizeof row), cudaMemset(p, 0, 4096);
  int *from[64];
  for (int i = 0; i < 64; ++i) from[i] = (int *)(p + (i == 40 ? 3 : 4 * i));
  cudaMemcpy(table, from, sizeof from, cudaMemcpyHostToDevice);
  good<<<1, 64>>>(out);
  Pair pair{1, (int *)(p + 2)};
  if (mode == "loops") loops<<<2, 64>>>(p + 1, out);
  if (mode == "member") member<<<2, 64>>>(pair, out);
  if (mode == "rows") rows<<<2, 64>>>(table, out);
  if (mode == "bytes") bytes<<<2, 64>>>(p, out);
  if (mode == "regions") regions<<<2, 64>>>(p + 2, out);
  if (mode == "fibers") fibers<<<2, 64>>>(p + 3, out);
  if (mode == "vector") vector<<<2, 64>>>((float4 *)(p + 8), out);
  if (mode == "atomics") atomics<<<2, 64>>>(p + 1, out);
  if (mode == "function") function<<<2, 64>>>(p + 1, out);
  if (mode == "ptx") ptx<<<2, 64>>>(p + 4, out);
  if (mode == "copied") copied<<<2, 64>>>(p, out);
  if (mode == "matrices") matrices<<<2, 64>>>(8, out);
  if (mode == "rows16") matrices<<<2, 64>>>(16, out);
  if (mode == "tile") tile<<<2, 64>>>(p + 2, out);
  if (mode == "tile4") tile<<<2, 64>>>(p + 4, out);
  if (mode == "sums") sums<<<2, 64>>>(p + 4, out);
  if (mode == "sums8") sums<<<2, 64>>>(p + 8, out);
  if (mode == "shared") shared<<<2, 64>>>(1, out);
  if (mode == "local") local<<<2, 64>>>(1, out);
  if (mode == "unused") unused<<<2, 64>>>((int *)1, out);
  if (mode == "packed") packed<<<2, 64>>>(p, out);
  if (mode == "bounded") {
    cudaFuncAttributes a; int fit;
    cudaFuncGetAttributes(&a, bounded);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, bounded, 64, 0);
    printf("at most %d, %d of 64 fit\n", a.maxThreadsPerBlock, fit);
    bounded<<<1, 32>>>(out);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    bounded<<<1, dim3(8, 8)>>>(out);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  }
  int h;
  const cudaError_t errors[] = {cudaDeviceSynchronize(), cudaMemcpy(&h, out, 4, cudaMemcpyDeviceToHost), cudaStreamCreate(&stream), cudaEventCreate(&event), cudaFree(p)};
  for (cudaError_t e : errors) printf("%s ", cudaGetErrorName(e));
  good<<<1, 64>>>(out);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
"#;

const FAULTS: [&str; 15] = [
    "loops", "member", "rows", "bytes", "regions", "fibers", "vector", "atomics", "function",
    "ptx", "copied", "tile", "sums", "shared", "local",
];

fn line_of(mark: &str) -> usize {
    let is_marked = |line: &str| line.ends_with(&format!("// HERE {mark}"));
    1 + PROGRAM
        .lines()
        .position(is_marked)
        .expect("every kernel has a marked line")
}

/// Runs the untraced executable directly.
fn run_untraced(folder: &Path, mode: &str, environment: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(folder.join("app"));
    run(command
        .arg(mode)
        .env("SUPERSTEP_ROOT", root())
        .envs(environment.iter().copied()))
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_misaligned_address_ends_the_launch_with_a_sticky_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.cu"), PROGRAM).unwrap();
    let words = ["build", "--", "nvcc", "app.cu", "-o", "app"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");

    let sticky = "cudaErrorMisalignedAddress ".repeat(5) + "cudaErrorMisalignedAddress\n";
    for mode in FAULTS {
        for variables in [&[][..], &[("SUPERSTEP_CPU_FIBERS", "1")]] {
            let (code, out, err) = run_untraced(folder.path(), mode, variables);
            assert_eq!((code, &out), (0, &sticky), "{mode}: {err}");
            let mark = match mode {
                "shared" | "local" => "at",
                _ => mode,
            };
            let location = format!("(app.cu:{})", line_of(mark));
            let kernel = format!("kernel {mode}, CTA (");
            assert!(
                err.contains(&kernel) && err.contains(&location),
                "{mode}: {err}"
            );
            assert!(err.contains("thread ("), "{mode}: {err}");
        }
    }
    let (_, _, err) = run_untraced(folder.path(), "rows", &[]);
    assert!(err.contains("thread (40,0,0)"), "{err}");
    let (_, _, err) = run_untraced(folder.path(), "vector", &[]);
    assert!(err.contains("is not a multiple of 16"), "{err}");

    let (_, out, err) = run_untraced(folder.path(), "matrices", &[]);
    assert_eq!(out, sticky, "{err}");
    assert!(err.contains("lane 0 passed matrix row address"), "{err}");

    let success = "cudaSuccess ".repeat(5) + "cudaSuccess\n";
    for mode in ["unused", "packed", "rows16", "tile4", "sums8"] {
        let (code, out, err) = run_untraced(folder.path(), mode, &[]);
        assert_eq!((code, &out), (0, &success), "{mode}: {err}");
    }
    let bounded =
        "at most 32, 0 of 64 fit\ncudaSuccess\ncudaErrorInvalidValue\n".to_owned() + &success;
    assert_eq!(run_untraced(folder.path(), "bounded", &[]).1, bounded);

    // The trace contains the accesses up to and including the faulting access.
    for (mode, min) in [("regions", 64), ("fibers", 64), ("unused", 192)] {
        let words = ["run", "--backend", "cpu", "app", "--", mode];
        let (code, out, err) = run(superstep(folder.path()).args(words));
        assert_eq!(code, if mode == "unused" { 0 } else { 7 }, "{out}\n{err}");
        let latest = folder.path().join("out/app/latest");
        let text = fs::read_to_string(latest.join("run.json")).unwrap();
        let app = &serde_json::from_str::<Value>(&text).unwrap()["benchmarks"][0];
        assert!(app["threads"]["stores"].as_u64() >= Some(min), "{app:#}");
        if mode != "unused" {
            let stderr = fs::read_to_string(latest.join("benchmarks/app/traced/stderr")).unwrap();
            let location = format!("(app.cu:{})", line_of(mode));
            assert!(stderr.contains(&location), "{stderr}");
        }
    }
}
