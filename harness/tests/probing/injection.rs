//! Injected errors on the CPU backend: the chosen bit is flipped, and a campaign that is interrupted and resumed, or
//! uses a bundle, has the same result as an uninterrupted one.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{run, superstep, write_suite};
use superstep_trace::ProbeResults;

/// A program without loops, so that a flipped bit cannot make it slow. A wrong value can change standard output, the
/// output file, the exit code, or an address.
const PROGRAM: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void mix(unsigned *numbers, unsigned *mixed) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = numbers[at] * 2654435761u;
  x ^= x >> 13;
  if (x % 3 == 0) x += numbers[(at + 1) % (gridDim.x * blockDim.x)] & 0xff;
  mixed[at] = x;
}
int main() {
  unsigned host[128], *numbers, *mixed;
  for (unsigned i = 0; i < 128; ++i) host[i] = i * i;
  cudaMalloc(&numbers, sizeof host);
  cudaMalloc(&mixed, sizeof host);
  cudaMemcpy(numbers, host, sizeof host, cudaMemcpyHostToDevice);
  mix<<<2, 64>>>(numbers, mixed);
  cudaMemcpy(host, mixed, sizeof host, cudaMemcpyDeviceToHost);
  unsigned low = 0, high = 0;
  for (unsigned x : host) { low += x & 0xffff; high ^= x >> 16; }
  std::printf("%u\n", high);
  FILE *file = std::fopen("low", "w");
  std::fprintf(file, "%u\n", low);
  std::fclose(file);
  return high == 0xffffffffu;
}
"#;

/// Returns a command for 40 injections, with results in `out`. All values of `out` have the same length, since the
/// environment affects stack addresses.
fn campaign(folder: &Path, out: &str, seed: &str) -> Command {
    let mut command = superstep(folder);
    command
        .args(["inject", "./suite", "--injections", "40"])
        .args(["--seed", seed, "--out", out]);
    command
}

fn outcome_count(folder: &Path, out: &str) -> usize {
    let path = folder.join(out).join("injection/toys/toy/outcomes.jsonl");
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// Sends a signal as soon as there are `after` outcomes or the campaign has ended.
fn stop(folder: &Path, out: &str, mut child: Child, signal: &str, after: usize) {
    let start = Instant::now();
    while outcome_count(folder, out) < after && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(300), "no outcomes");
        thread::sleep(Duration::from_millis(2));
    }
    let id = child.id().to_string();
    let _ = Command::new("kill").args([signal, &id]).status().unwrap();
    child.wait().unwrap();
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn an_interrupted_campaign_has_the_result_of_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let size = "{args: []}\nchecks: {output-files: [low]}";
    write_suite(folder, "{in-tree: true}", size, PROGRAM);
    let (code, out, err) = run(&mut campaign(folder, "one", "7"));
    assert_eq!(code, 0, "{out}\n{err}");
    assert_eq!(outcome_count(folder, "one"), 40);
    assert!(out.contains("SDC") && out.contains("toy.cu:"), "{out}");

    // Derived from the process ID, the points of interruption vary from run to run.
    let chance = std::process::id() as usize;
    for (signal, after) in [
        ("-INT", 1 + chance % 12),
        ("-KILL", 14 + chance / 12 % 10),
        ("-INT", 26 + chance / 120 % 10),
    ] {
        let mut command = campaign(folder, "two", "7");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        stop(folder, "two", child.unwrap(), signal, after);
        let count = outcome_count(folder, "two");
        assert!(count >= after, "{signal} after {after}: {count}");
    }
    let (code, out, err) = run(&mut campaign(folder, "two", "7"));
    assert_eq!(code, 0, "{out}\n{err}");

    for file in [
        "toy/outcomes.csv",
        "tables/injection.csv",
        "tables/vulnerable-lines.csv",
    ] {
        let read = |out: &str| {
            let path = folder.join(out).join("injection/toys").join(file);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        assert_eq!(read("one"), read("two"), "{file}");
    }
    // From a bundle, with multiple workers.
    let bundle = ["bundle", "./suite", "--backend", "cpu", "--out", "bundle"];
    let (code, out, err) = run(superstep(folder)
        .args(bundle)
        .args(["--probe", "injection"]));
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(out.contains("superstep inject toys --bundle"), "{out}");
    let mut command = campaign(folder, "six", "7");
    let (code, out, err) = run(command.args(["--bundle", "bundle", "--jobs", "3"]));
    assert_eq!(code, 0, "{out}\n{err}");
    let read = |out: &str| {
        fs::read_to_string(folder.join(out).join("injection/toys/toy/outcomes.csv")).unwrap()
    };
    assert_eq!(read("one"), read("six"));

    // A different seed means a different campaign, which cannot resume this one.
    let (code, _, err) = run(&mut campaign(folder, "two", "8"));
    assert_eq!(code, 2, "{err}");
    let outcomes = fs::read_to_string(folder.join("one/injection/toys/toy/outcomes.csv")).unwrap();
    assert!(
        outcomes.contains("masked") && outcomes.contains("differs"),
        "{outcomes}"
    );
}

/// The number of iterations depends on the thread; each thread updates its own element.
const LOOPS: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void turn(unsigned *numbers) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, x = numbers[at];
  #pragma unroll 1
  for (unsigned i = 0; i <= at % 7; ++i) x = (x ^ 0x5a5a5a5au) * 2654435761u;
  numbers[at] = x;
}
int main() {
  unsigned host[160], *numbers;
  for (unsigned i = 0; i < 160; ++i) host[i] = i;
  cudaMalloc(&numbers, sizeof host);
  cudaMemcpy(numbers, host, sizeof host, cudaMemcpyHostToDevice);
  turn<<<2, 80>>>(numbers);
  turn<<<2, 80>>>(numbers);
  cudaMemcpy(host, numbers, sizeof host, cudaMemcpyDeviceToHost);
  for (unsigned x : host) std::printf("%u\n", x);
}
"#;

/// Computes the output of [`LOOPS`] after flipping the bits that `flip` returns for each launch, thread and execution.
fn expected_output(flip: impl Fn(u32, u32, u32) -> u32) -> String {
    let number = |at: u32| {
        (0..2).fold(at, |x, launch| {
            (0..=at % 7).fold(x, |x, execution| {
                let mixed = (x ^ 0x5a5a_5a5a) ^ flip(launch, at, execution);
                mixed.wrapping_mul(2_654_435_761)
            })
        })
    };
    (0..160).map(|at| format!("{}\n", number(at))).collect()
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn the_chosen_bit_is_flipped() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("loops.cu"), LOOPS).unwrap();
    let results_of = |probe: &str| folder.join("out/probes").join(probe).join("loops/loops");
    let probe = ["probe", "injection-profile", "loops.cu", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder).args(probe).arg("--keep-threads"));
    assert_eq!(code, 0, "{out}\n{err}");
    let results = ProbeResults::open(&results_of("injection-profile").join("results")).unwrap();
    let launch = &results.launches[1];
    let sites = &results.probe(launch).unwrap().sites;
    let slot = sites.iter().position(|site| site.what == "xor").unwrap() as u32;
    let counts = results.threads(launch, slot).unwrap().unwrap();
    let expected: Vec<u64> = (0..160).map(|at| at % 7 + 1).collect();
    assert_eq!(counts, expected);

    let flipped = |launch: u32, thread: u32, execution: u32, bit: u32| {
        let site = results.launches[0].module << 16 | slot;
        let mut command = superstep(folder);
        command.args(["probe", "injection", "loops.cu", "--backend", "cpu"]);
        for (name, number) in [
            ("launch", launch),
            ("site", site),
            ("thread", thread),
            ("execution", execution),
            ("bit", bit),
        ] {
            command.args(["--set", &format!("{name}={number}")]);
        }
        let (_, _, err) = run(&mut command);
        let text = fs::read_to_string(results_of("injection").join("probed/stdout")).unwrap();
        (text, err)
    };
    assert_eq!(flipped(7, 0, 0, 0).0, expected_output(|_, _, _| 0));
    for (launch, thread, execution, bit) in [(0, 5, 0, 0), (1, 104, 6, 31), (1, 159, 3, 17)] {
        let (text, err) = flipped(launch, thread, execution, bit);
        let wanted = (launch, thread, execution);
        let flip = |l, t, e| if (l, t, e) == wanted { 1 << bit } else { 0 };
        assert_eq!(text, expected_output(flip), "{wanted:?}");
        assert!(err.contains("output differs"), "{err}");
    }
}
