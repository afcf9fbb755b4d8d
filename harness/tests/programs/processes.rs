//! Programs with multiple processes: forks, ranks started by a launcher, and programs started by a script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::common::{run, superstep};
use serde_json::Value;
use superstep_trace::{Capture, captures_in};

/// Forks N processes, where N is the first argument; each child launches kernels, and the parent does not. With `late`
/// as the second argument, only the parent launches kernels, both before and after forking. If the program has a rank,
/// the rank determines its number of launches. With `ODD` set, rank 1 launches one more kernel when traced.
const FORKS: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda_runtime.h>
__device__ int weight = 3;
__global__ void add(int *numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] += weight; }
static int work(int launches, int rank) {
  int host[64] = {0}, *device, sum = 0;
  if (cudaMalloc(&device, sizeof host) != cudaSuccess) return 3;
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  for (int i = 0; i < launches; ++i) add<<<2, 32>>>(device);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  for (int number : host) sum += number;
  std::printf("rank %d sum %d\n", rank, sum);
  if (rank == 1 && std::getenv("ODD") && std::getenv("SUPERSTEP_CAPTURE")) add<<<1, 32>>>(device);
  cudaFree(device);
  return sum != 64 * 3 * launches;
}
int main(int argc, char **argv) {
  const int children = std::atoi(argv[1]);
  const bool late = argc > 2 && !std::strcmp(argv[2], "late");
  if (const char *rank = std::getenv("OMPI_COMM_WORLD_RANK")) return work(std::atoi(rank) + 1, std::atoi(rank));
  int result = late ? work(1, 0) : 0;
  std::fflush(stdout);
  for (int child = 0; child < children; ++child) {
    if (fork() == 0) {
      int *device;
      if (late) std::exit(cudaMalloc(&device, 4) == cudaErrorInitializationError ? 0 : 9);
      std::exit(work(child + 1, child));
    }
  }
  for (int child = 0, status; child < children; ++child) {
    wait(&status);
    result |= status;
  }
  if (late) result |= work(2, 0);
  return result != 0;
}
"#;

/// Like mpirun, starts N copies of a command, where N is the first argument.
const LAUNCHER: &str = r#"#!/bin/sh
count=$1; shift
rank=0
while [ "$rank" -lt "$count" ]; do
  OMPI_COMM_WORLD_RANK=$rank "$@" &
  pids="$pids $!"
  rank=$((rank + 1))
done
for pid in $pids; do wait "$pid" || exit 1; done
"#;

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Builds the project in `folder`.
fn build(folder: &Path) {
    fs::write(folder.join("forks.cu"), FORKS).unwrap();
    let nvcc = ["build", "--", "nvcc", "-o", "forks", "forks.cu"];
    let (code, out, err) = run(superstep(folder).args(nvcc));
    assert_eq!(code, 0, "{out}\n{err}");
}

fn result(folder: &Path, name: &str) -> Value {
    let text = fs::read_to_string(folder.join(format!("out/{name}/latest/run.json"))).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    summary["benchmarks"][0].clone()
}

fn passes(folder: &Path, arguments: &[&str]) -> String {
    let (code, out, err) = run(superstep(folder).args(arguments));
    assert_eq!(code, 0, "{arguments:?}: {out}\n{err}");
    out
}

/// Returns the launches and stores of each process, in order.
fn launches(result: &Value) -> Vec<(u64, u64)> {
    let processes = result["processes"].as_array().expect("multiple processes");
    let numbers = |process: &Value| {
        let number = |value: &Value| value.as_u64().unwrap();
        let stores = number(&process["threads"]["stores"]);
        (number(&process["launches"]), stores)
    };
    processes.iter().map(numbers).collect()
}

/// Runs `FORKS` with the given number of processes. Returns a folder with the results.
fn forked(processes: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("forks.cu"), FORKS).unwrap();
    let command = ["run", "forks.cu", "--backend", "cpu", "--", processes];
    passes(folder.path(), &command);
    folder
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn forked_processes_are_joined_and_the_parent_has_no_capture() {
    let folder = forked("3");
    let joined = result(folder.path(), "forks");
    assert_eq!(joined["launches"], 6);
    assert_eq!(joined["threads"]["stores"], 6 * 64);
    let mut sorted = launches(&joined);
    sorted.sort_unstable();
    assert_eq!(sorted, [(1, 64), (2, 128), (3, 192)]);
    let latest = folder.path().join("out/forks/latest");
    let captures = captures_in(&latest.join("benchmarks/forks/capture")).unwrap();
    assert_eq!(captures.len(), 3);
    for capture in &captures {
        let capture = Capture::open(capture).unwrap();
        assert!(capture.complete, "{:?}", capture.problems);
        let process = capture.header.process.unwrap();
        assert_eq!(process.rank, None);
        // The variable is allocated with the module, before the fork.
        assert_eq!(capture.allocations().len(), 2);
    }
    // A second run has different process IDs but the same digest.
    passes(
        folder.path(),
        &["run", "forks.cu", "--backend", "cpu", "--", "3"],
    );
    let again = result(folder.path(), "forks");
    assert_eq!(again["digest"], joined["digest"]);
    assert_ne!(again["processes"], joined["processes"]);

    let all = latest.join("benchmarks/forks/capture");
    let (code, _, err) = run(superstep(folder.path()).arg("info").arg(&all));
    assert!(
        code == 2 && err.contains("name one of them: pid-"),
        "{code}: {err}"
    );
    passes(
        folder.path(),
        &["analyse", all.to_str().unwrap(), "-o", "tables"],
    );
    let folders = fs::read_dir(folder.path().join("tables")).unwrap();
    assert_eq!(folders.count(), 3);
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn forking_after_using_cuda_does_not_change_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("forks.cu"), FORKS).unwrap();
    passes(
        folder.path(),
        &["run", "forks.cu", "--backend", "cpu", "--", "2", "late"],
    );
    let one = result(folder.path(), "forks");
    assert_eq!(one["launches"], 3);
    assert!(one.get("processes").is_none(), "{one:#}");
    let latest = folder.path().join("out/forks/latest/benchmarks/forks");
    assert!(latest.join("capture/events.sst").is_file());
    assert!(latest.join("traced/summary.json").is_file());
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn ranks_from_a_launcher_are_joined_in_order() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    script(&folder.path().join("launch"), LAUNCHER);
    let command = [
        "run",
        "--backend",
        "cpu",
        "--",
        "./launch",
        "4",
        "./forks",
        "0",
    ];
    passes(folder.path(), &command);
    let joined = result(folder.path(), "forks");
    assert_eq!(launches(&joined), [(1, 64), (2, 128), (3, 192), (4, 256)]);
    let processes = joined["processes"].as_array().unwrap();
    for (rank, process) in processes.iter().enumerate() {
        assert_eq!(process["process"]["rank"], rank);
        assert_eq!(process["process"]["arguments"][0], "0");
    }
    // The joined table and the page name the processes.
    let latest = folder.path().join("out/forks/latest");
    let table = latest.join("tables/forks/joined/counts-by-launch.csv");
    let table = fs::read_to_string(table).unwrap();
    let ranks: Vec<&str> = table
        .lines()
        .map(|line| &line[..line.find(',').unwrap()])
        .collect();
    assert_eq!(
        ranks,
        ["rank", "0", "1", "1", "2", "2", "2", "3", "3", "3", "3"]
    );
    let page = fs::read_to_string(latest.join("index.html")).unwrap();
    assert!(page.contains("forks/rank-3-pid-"));
    let name = processes[2]["name"].as_str().unwrap();
    assert!(latest.join("tables").join(name).join("flows.csv").is_file());
    passes(folder.path(), &["report", "out/forks/latest"]);
    // Each rank is compared with its own counts.
    let (code, out, err) = run(superstep(folder.path())
        .args(["run", "--backend", "cpu", "--", "ODD=1"])
        .args(&command[4..]));
    assert_eq!(code, 7, "{out}\n{err}");
    let wrong = result(folder.path(), "forks");
    let failed: Vec<_> = (wrong["processes"].as_array().unwrap().iter())
        .filter(|process| process["status"] == "failed")
        .map(|process| process["process"]["rank"].as_u64().unwrap())
        .collect();
    assert_eq!(failed, [1]);
    let message = wrong["failure"]["message"].as_str().unwrap();
    let is_named = message.contains("counts-equal: rank-1-pid-");
    assert!(
        is_named && message.contains("3 launches traced, 2 counted"),
        "{message}"
    );
    // A probe can record the kernels of only one process.
    let mut probe = superstep(folder.path());
    probe.args([
        "probe",
        "branches",
        "--backend",
        "cpu",
        "forks.cu",
        "--",
        "2",
    ]);
    let (_, out, err) = run(&mut probe);
    assert!(
        err.contains("2 of its processes launch kernels"),
        "{out}\n{err}"
    );
    // Options that compare runs of one process are rejected.
    let (code, out, err) = run(superstep(folder.path())
        .args(["run", "--backend", "cpu", "--repeat", "2"])
        .args(&command[3..]));
    assert!(
        code == 2 && err.contains("remove --repeat"),
        "{code}: {out}\n{err}"
    );
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn programs_that_a_script_starts_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let program = folder.path().join("forks");
    let text = format!("#!/bin/sh\n{0} 0 late && {0} 2\n", program.display());
    script(&folder.path().join("test.sh"), &text);
    let command = [
        "run",
        "--backend",
        "cpu",
        "--with",
        "forks",
        "--",
        "./test.sh",
    ];
    passes(folder.path(), &command);
    let mut sorted = launches(&result(folder.path(), "forks"));
    sorted.sort_unstable();
    assert_eq!(sorted, [(1, 64), (2, 128), (3, 192)]);
    // Without `--with`, the run fails, and the error names the option.
    let (code, out, err) =
        run(superstep(folder.path()).args(["run", "--backend", "cpu", "--", "./test.sh"]));
    assert!(code == 6 && err.contains("--with"), "{code}: {out}\n{err}");
}

/// Without `superstep run`, the capture's path determines whether each process gets a separate capture.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_capture_path_can_contain_the_process() {
    let folder = forked("1");
    // This file names the start script of the traced variant.
    let outcome = "out/forks/latest/benchmarks/forks/traced/outcome.json";
    let outcome = fs::read_to_string(folder.path().join(outcome)).unwrap();
    let outcome: Value = serde_json::from_str(&outcome).unwrap();
    let start = |children: &str, capture: &str| {
        let mut command = Command::new(outcome["program"].as_str().unwrap());
        command.args([children, "late"][..1 + usize::from(children == "0")].iter());
        command
            .current_dir(folder.path())
            .env("SUPERSTEP_CAPTURE", capture);
        assert!(command.output().unwrap().status.success());
    };
    start("2", "each/{process}");
    let each = captures_in(&folder.path().join("each")).unwrap();
    let with_launches =
        |path: &&std::path::PathBuf| Capture::open(path).unwrap().launches().count() > 0;
    assert_eq!(each.iter().filter(with_launches).count(), 2);
    // If the path names a single capture, forked processes write their captures next to it.
    start("2", "one");
    let names = fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("one.pid-")).count(), 2);
    start("0", "one");
    let one = Capture::open(folder.path().join("one")).unwrap();
    assert_eq!((one.launches().count(), one.complete), (3, true));
}
