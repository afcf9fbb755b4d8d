//! Processes that end without calling `exit`: their captures are complete and verified.

use std::fs;
use std::path::Path;

use crate::common::{run, superstep};
use serde_json::Value;
use superstep_trace::{Capture, captures_in};

/// `program HOW [CHILDREN CHILD_HOW]`: forks children, each of which launches one more kernel than the previous child
/// and ends as CHILD_HOW says; then launches two kernels and ends as HOW says.
const ENDS: &str = r#"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda_runtime.h>
__global__ void mark(int *p, int v) { p[threadIdx.x] = v; }
static int use(int launches) {
  int *d, h[64], sum = 0;
  if (cudaMalloc(&d, sizeof h) != cudaSuccess) return 3;
  for (int i = 0; i < launches; ++i) mark<<<1, 64>>>(d, i + 1);
  if (cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess) return 4;
  for (int x : h) sum += x;
  if (launches > 0) std::printf("sum %d\n", sum), std::fflush(stdout);
  return sum == 64 * launches ? 0 : 1;
}
static int reaped(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 0 : status;
}
static void end(const char *how, const char *self, int r) {
  auto is = [&](const char *name) { return !std::strcmp(how, name); };
  if (is("_exit")) _exit(r);
  if (is("_Exit")) std::_Exit(r);
  if (is("quick_exit")) std::quick_exit(r);
  if (is("syscall")) syscall(SYS_exit_group, r);
  if (is("term")) kill(getpid(), SIGTERM), pause();
  if (is("kill")) kill(getpid(), SIGKILL);
  if (is("exec")) execlp("true", "true", (char *)nullptr);
  if (is("again")) execl("/proc/self/exe", self, "exit", (char *)nullptr);
  if (is("handler")) {
    std::signal(SIGALRM, [](int) { _exit(0); });
    ualarm(20000, 0);
    for (volatile bool is_on = true; is_on;) use(0);
  }
  if (is("no-exec")) execl("/nonexistent", "nonexistent", (char *)nullptr), r |= use(3);
  if (is("vfork")) {
    pid_t child = vfork();
    if (child == 0) execlp("true", "true", (char *)nullptr), _exit(1);
    r |= reaped(child) | use(3);
  }
  if (is("spawn")) {
    char name[] = "true", *arguments[] = {name, nullptr};
    pid_t child;
    r |= posix_spawnp(&child, name, nullptr, nullptr, arguments, environ) || reaped(child) || use(3);
  }
  std::exit(r);
}
int main(int argc, char **argv) {
  const int children = argc > 2 ? std::atoi(argv[2]) : 0;
  int bad = 0;
  pid_t pids[8];
  for (int i = 0; i < children; ++i)
    if ((pids[i] = fork()) == 0) end(argv[3], argv[0], use(i + 1));
  for (int i = 0; i < children; ++i) bad |= reaped(pids[i]);
  if (argc > 4) _exit(bad);
  end(argv[1], argv[0], bad | use(2));
}
"#;

fn result(folder: &Path, name: &str) -> Value {
    let text = fs::read_to_string(folder.join(format!("out/{name}/latest/run.json"))).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    summary["benchmarks"][0].clone()
}

/// Returns the launches of each process in a passing run, and whether any ended without running exit handlers.
fn passes(folder: &Path, how: &str) -> (Vec<u64>, bool) {
    let mut command = superstep(folder);
    command.args(["run", "ends.cu", "--backend", "cpu", "--"]);
    let (code, out, err) = run(command.args(how.split(' ')));
    assert_eq!(code, 0, "{how}: {out}\n{err}");
    let result = result(folder, "ends");
    let processes = result["processes"].as_array();
    let records = processes.map_or(std::slice::from_ref(&result), Vec::as_slice);
    let launches = records
        .iter()
        .map(|process| process["launches"].as_u64().unwrap());
    let mut launches: Vec<u64> = launches.collect();
    launches.sort_unstable();
    let checks = result["verification"].as_array().unwrap();
    let is_early = checks.iter().any(|check| check["check"] == "process-ends");
    let captures = captures_in(&folder.join("out/ends/latest/benchmarks/ends/capture")).unwrap();
    assert_eq!(captures.len(), records.len(), "{how}");
    for capture in captures {
        let capture = Capture::open(capture).unwrap();
        assert!(capture.complete, "{how}: {:?}", capture.problems);
    }
    (launches, is_early)
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_process_is_verified_however_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("ends.cu"), ENDS).unwrap();
    for how in ["_exit", "_Exit", "quick_exit", "syscall", "exec", "handler"] {
        assert_eq!(passes(folder, how), (vec![2], true), "{how}");
    }
    for how in ["exit", "no-exec", "vfork", "spawn"] {
        let launches = if how == "exit" { 2 } else { 5 };
        assert_eq!(passes(folder, how), (vec![launches], false), "{how}");
    }
    for how in ["_exit", "exec", "term", "kill", "syscall"] {
        let how = format!("exit 2 {how}");
        assert_eq!(passes(folder, &how), (vec![1, 2, 2], true), "{how}");
    }
    assert_eq!(passes(folder, "_exit 2 exit"), (vec![1, 2, 2], true));
    // The parent launches nothing.
    assert_eq!(passes(folder, "- 1 _exit -"), (vec![1], true));
    // A program that replaces itself with another leaves two captures for one process.
    assert_eq!(passes(folder, "again"), (vec![2, 2], true));
    let again = result(folder, "ends");
    let processes = again["processes"].as_array().unwrap();
    assert_eq!(
        processes[0]["process"]["pid"],
        processes[1]["process"]["pid"]
    );
    assert_eq!(processes[1]["process"]["earlier"], 1);
    assert_eq!(passes(folder, "exit 2 again"), (vec![1, 2, 2, 2, 2], true));
}

/// A library like those in Python extensions.
const LIBRARY: &str = r#"
#include <cuda_runtime.h>
__global__ void mark(int *p, int v) { p[threadIdx.x] = v; }
extern "C" int use(int v) {
  int *d, h[64], s = 0;
  if (cudaMalloc(&d, sizeof h)) return -1;
  mark<<<1, 64>>>(d, v);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(d);
  for (int x : h) s += x;
  return s;
}
"#;

/// The pool's workers are terminated by SIGTERM; the other processes of `multiprocessing` end by calling `_exit`. The
/// work is distributed differently in each run.
const POOL: &str = r#"
import ctypes, multiprocessing, sys
library = ctypes.CDLL(sys.argv[1])
def work(value):
    return library.use(value)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    with context.Pool(2) as pool:
        print(sorted(pool.map(work, range(6), chunksize=1)))
    processes = [context.Process(target=work, args=(9,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
"#;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn python_workers_are_verified_together() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("use.cu"), LIBRARY).unwrap();
    fs::write(folder.join("pool.py"), POOL).unwrap();
    let nvcc = [
        "nvcc",
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-o",
        "libuse.so",
        "use.cu",
    ];
    let (code, out, err) = run(superstep(folder).args(["build", "--"]).args(nvcc));
    assert_eq!(code, 0, "{out}\n{err}");
    let at = |name: &str| folder.join(name).display().to_string();
    for method in ["fork", "spawn"] {
        let with = ["run", "--with", &at("libuse.so"), "--backend", "cpu", "--"];
        let program = ["python3", &at("pool.py"), &at("libuse.so"), method];
        let (code, out, err) = run(superstep(folder).args(with).args(program));
        assert_eq!(code, 0, "{method}: {out}\n{err}");
        let result = result(folder, "libuse");
        assert_eq!(
            (&result["launches"], &result["threads"]["stores"]),
            (&8.into(), &(8 * 64).into())
        );
    }
}
