//! In-situ runs on the CPU backend add up accesses while the program runs; their tables match those of a trace.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{run, superstep_alone, traced_program, write_suite};
use superstep_analysis::communication::{Communication, Flow, Options, Transfer, Volume};
use superstep_analysis::counts::Counts;
use superstep_analysis::{Analysis, VolumeBounds, analyse};
use superstep_trace::Capture;

/// Program that uses all kinds of memory and all access widths, and whose host code writes memory in every possible
/// way; every byte has one writer per launch.
const WITHOUT_RACES: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__device__ int table[512];
__device__ char *block;
__global__ void words(const int *in, int *out, int shift, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[(i + shift) % count] + table[i % 512];
}
__global__ void bytes(const unsigned char *in, unsigned char *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    out[i] = in[(i + 77) % count];
    if (out[i] % 2) out[i] += 1;
  }
}
__global__ void wide(const float4 *in, double *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    float4 v = in[(i * 5) % count];
    out[i] = v.x + v.w;
  }
}
__global__ void fill_table(const int *from) { table[blockIdx.x * blockDim.x + threadIdx.x] = from[threadIdx.x]; }
__global__ void make_block() {
  block = (char *)malloc(300);
  for (int i = 0; i < 300; i += 3) block[i] = i;
}
__global__ void use_block(int *sum) {
  int total = 0;
  for (int i = threadIdx.x; i < 300; i += 32) total += block[i];
  sum[blockIdx.x * 32 + threadIdx.x] += total;
}
__global__ void barrier(int *numbers) {
  __shared__ int tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = numbers[i];
  __syncthreads();
  numbers[i] = tile[63 - threadIdx.x];
}
int main() {
  const int count = 5000;
  static int host[count];
  for (int i = 0; i < count; ++i) host[i] = i;
  int *a, *b, *managed, *pinned, *pooled;
  cudaStream_t one, two;
  cudaStreamCreate(&one);
  cudaStreamCreate(&two);
  cudaMalloc(&a, sizeof host);
  cudaMalloc(&b, sizeof host);
  cudaMallocManaged(&managed, sizeof host);
  cudaMallocHost(&pinned, sizeof host);
  for (int i = 0; i < count; ++i) managed[i] = pinned[i] = i;
  cudaMemcpy(a, host, sizeof host / 2, cudaMemcpyHostToDevice);
  for (int turn = 0; turn < 6; ++turn) {
    words<<<40, 128>>>(a, b, 13 * turn, count);
    words<<<40, 128, 0, one>>>(b, managed, 1, count);
    cudaStreamSynchronize(one);
    bytes<<<157, 128, 0, two>>>((unsigned char *)managed, (unsigned char *)a, 4 * count - 3);
    cudaStreamSynchronize(two);
    wide<<<20, 64>>>((float4 *)pinned, (double *)b, count / 4);
    barrier<<<count / 64, 64>>>(b);
    if (turn == 1) cudaMemset((char *)a + 10, 3, 1001);
    if (turn == 2) cudaMemcpy(pinned, b, sizeof host, cudaMemcpyDeviceToHost);
    if (turn == 3) cudaMemcpyToSymbol(table, host, 100);
    if (turn == 4) cudaMemcpy2D(a, 400, b, 400, 30, 20, cudaMemcpyDeviceToDevice);
    fill_table<<<4, 128>>>(managed);
    cudaMallocAsync(&pooled, sizeof host, one);
    words<<<40, 128, 0, one>>>(b, pooled, turn, count);
    words<<<40, 128, 0, one>>>(pooled, a, turn, count);
    cudaFreeAsync(pooled, one);
    cudaStreamSynchronize(one);
  }
  make_block<<<1, 1>>>();
  use_block<<<3, 32>>>(a);
  cudaFree(b);
  cudaMalloc(&b, sizeof host);
  words<<<40, 128>>>(b, a, 0, count);
  std::printf("%d\n", cudaDeviceSynchronize());
}
"#;

/// Program whose threads and CTAs write the same bytes, so that only bounds on the communication are known.
const WITH_RACES: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void histogram(const int *in, int *bins, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int turn = 0; turn < 3; ++turn)
    if (i < count) atomicAdd(bins + in[i] % 37, turn);
}
__global__ void spread(const int *bins, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i % 1000] = bins[i % 37];
}
int main() {
  const int count = 4000;
  int *numbers, *bins;
  cudaMalloc(&numbers, count * sizeof(int));
  cudaMalloc(&bins, 37 * sizeof(int));
  cudaMemset(numbers, 1, count * sizeof(int));
  for (int turn = 0; turn < 3; ++turn) {
    histogram<<<40, 128>>>(numbers, bins, count);
    spread<<<40, 128>>>(bins, numbers, count);
  }
  std::printf("%d\n", cudaDeviceSynchronize());
}
"#;

/// Program that launches N pairs of kernels, where N is its argument, and prints a line after each pair.
const ENDLESS: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
__global__ void pass(const int *in, int *out, int shift, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[(i + shift) % count];
}
int main(int argc, char **argv) {
  const int count = 5000, pairs = argc > 1 ? atoi(argv[1]) : 2;
  int *a, *b;
  cudaMalloc(&a, count * sizeof(int));
  cudaMalloc(&b, count * sizeof(int));
  cudaMemset(a, 1, count * sizeof(int));
  for (int pair = 0; pair < pairs; ++pair) {
    pass<<<40, 128>>>(a, b, 77, count);
    pass<<<40, 128>>>(b, a, 51, count);
    cudaDeviceSynchronize();
    std::printf("%d\n", pair);
    std::fflush(stdout);
  }
}
"#;

/// A program built for tracing.
struct Program {
    folder: tempfile::TempDir,
    path: std::path::PathBuf,
}

impl Program {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_suite(folder.path(), "{in-tree: true}", "{args: []}", text);
        let (code, out, err) =
            run(superstep_alone(folder.path()).args(["run", "suite/toy.cu", "--backend", "cpu"]));
        assert_eq!(code, 0, "{out}{err}");
        let path = traced_program(&folder.path().join("cache/build/steps"));
        Program { folder, path }
    }

    /// Returns a command that runs the program with `environment` and three workers, and the folder of its capture.
    fn command(&self, name: &str, environment: &[(&str, &str)]) -> (Command, PathBuf) {
        let folder = self.folder.path().join(name);
        let mut command = Command::new(&self.path);
        command
            .env("SUPERSTEP_CAPTURE", &folder)
            .env("SUPERSTEP_SUMMARY", folder.with_extension("json"))
            .env("SUPERSTEP_CPU_THREADS", "3")
            .envs(environment.iter().copied());
        (command, folder)
    }

    fn analysis(&self, name: &str, environment: &[(&str, &str)]) -> Analysis {
        let (mut command, folder) = self.command(name, environment);
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success() && out == "0\n",
            "{name}: {out}{err}"
        );
        assert_eq!(err, "");
        analysis_of(&open_complete(&folder))
    }

    /// Returns the analyses of a trace and of an in-situ run.
    fn analyses(&self, name: &str, environment: &[(&str, &str)]) -> (Analysis, Analysis) {
        let in_situ = [environment, &[("SUPERSTEP_PROTOCOL", "in-situ")]].concat();
        let trace = self.analysis(&format!("{name}-trace"), environment);
        let sums = self.analysis(&format!("{name}-sums"), &in_situ);
        assert!(trace.in_situ.is_none() && sums.in_situ.is_some());
        assert_eq!(counts(&sums), counts(&trace), "{name}");
        (trace, sums)
    }
}

fn analysis_of(capture: &Capture) -> Analysis {
    analyse(capture, Options::transfers()).unwrap()
}

fn open_complete(folder: &Path) -> Capture {
    let capture = Capture::open(folder).unwrap();
    assert!(capture.complete, "{:?}", capture.problems);
    assert_eq!(capture.verify().unwrap(), Vec::<String>::new());
    capture
}

/// Returns each launch's counts without widths, which need a trace.
fn counts(analysis: &Analysis) -> Vec<Counts> {
    let launches = analysis.counts.launches.iter();
    launches
        .map(|launch| Counts {
            widths: Default::default(),
            ..launch.counts
        })
        .collect()
}

/// Returns exact bounds, except that in a launch with stores, another thread may have stored the uninitialised bytes.
fn exact(communication: &Communication) -> Vec<VolumeBounds> {
    let exact = communication.launches.iter().map(|launch| {
        let (mut lower, mut upper) = (launch.volume, launch.volume);
        if launch.volume.stored_bytes > 0 {
            lower.uninitialised_loaded_bytes = 0;
            upper.unordered_loaded_bytes = launch.volume.uninitialised_loaded_bytes;
        }
        VolumeBounds { lower, upper }
    });
    exact.collect()
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn sums_equal_the_trace_if_every_byte_has_one_writer() {
    let program = Program::new(WITHOUT_RACES);
    for (name, more) in [
        ("all", &[][..]),
        ("fibers", &[("SUPERSTEP_CPU_FIBERS", "1")]),
        ("kernel", &[("SUPERSTEP_KERNEL", "words")]),
        ("ctas", &[("SUPERSTEP_CTAS", "2-17")]),
        ("sample", &[("SUPERSTEP_SAMPLE_LAUNCHES", "0.5")]),
    ] {
        let (trace, sums) = program.analyses(name, more);
        assert_eq!(
            sums.communication.launches, trace.communication.launches,
            "{name}"
        );
        assert_eq!(
            sums.communication.kernels, trace.communication.kernels,
            "{name}"
        );
        assert_eq!(
            sums.communication.total, trace.communication.total,
            "{name}"
        );
        assert_eq!(
            sums.communication.flows, trace.communication.flows,
            "{name}"
        );
        assert_eq!(
            sums.communication.transfers, trace.communication.transfers,
            "{name}"
        );
        let bounds = sums.in_situ.unwrap();
        assert_eq!(bounds.launches, exact(&trace.communication), "{name}");
        let total = trace.communication.total;
        for (what, bytes) in [
            ("communicated", total.communicated_loaded_bytes),
            ("input", total.input_loaded_bytes),
            ("received", total.received_bytes),
            ("stored", total.communicated_stored_bytes),
        ] {
            assert!(bytes > 1000, "{name}: only {bytes} bytes {what}");
        }
    }
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn sums_with_races_are_bounds() {
    let program = Program::new(WITH_RACES);
    let (trace, sums) = program.analyses("races", &[]);
    let bounds = sums.in_situ.unwrap();
    assert_eq!(bounds.launches.len(), 6);
    for (bounds, launch) in bounds.launches.iter().zip(&trace.communication.launches) {
        macro_rules! within {
            ($($column:ident)+) => {$(
                let between = bounds.of(|volume| volume.$column);
                let value = launch.volume.$column;
                assert!(
                    between.least <= value && value <= between.most,
                    "{}: {value} is not in {between:?}",
                    stringify!($column)
                );
            )+};
        }
        within!(
            loaded_bytes communicated_loaded_bytes self_loaded_bytes input_loaded_bytes uninitialised_loaded_bytes
            local_loaded_bytes received_bytes received_count stored_bytes communicated_stored_bytes
            several_writers_bytes racing_bytes
        );
    }
    assert!(!bounds.total.of(|volume| volume.received_bytes).is_exact());
}

/// Returns the values of the first `launches` launches that later launches cannot change.
fn prefix(analysis: &Analysis, launches: usize) -> (Vec<Volume>, Vec<Flow>, Vec<Transfer>) {
    let all = &analysis.communication;
    let volumes = all.launches[..launches].iter().map(|launch| Volume {
        communicated_stored_bytes: 0,
        ..launch.volume
    });
    let flows = (all.flows.iter()).filter(|flow| (flow.receiver_launch as usize) < launches);
    let mut transfers = Vec::new();
    let each = all.transfers.each(|transfer: &Transfer| {
        transfers.extend(((transfer.receiver_launch as usize) < launches).then_some(*transfer));
    });
    each.unwrap();
    (volumes.collect(), flows.copied().collect(), transfers)
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_killed_program_leaves_its_sums() {
    const PAIRS: usize = 50;
    let program = Program::new(ENDLESS);
    let in_situ = [("SUPERSTEP_PROTOCOL", "in-situ")];
    let (mut command, folder) = program.command("killed", &in_situ);
    let mut child = command
        .arg("1000000000")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.map(Result::unwrap).take(PAIRS).count(), PAIRS);
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Capture::open(&folder).unwrap();
    assert!(!killed.complete && !killed.damaged);
    assert!(
        killed.problems.iter().any(|it| it.contains("was killed")),
        "{:?}",
        killed.problems
    );
    let (mut command, folder) = program.command("complete", &in_situ);
    assert!(
        command
            .arg(PAIRS.to_string())
            .output()
            .unwrap()
            .status
            .success()
    );
    let complete = prefix(&analysis_of(&open_complete(&folder)), 2 * PAIRS);
    let received: u64 = complete.2.iter().map(|transfer| transfer.bytes).sum();
    assert!(received > PAIRS as u64 * 15_000, "{received}");
    assert!(prefix(&analysis_of(&killed), 2 * PAIRS) == complete);
}
