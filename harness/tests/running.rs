//! Runs that are interrupted and continued, repeated, retried and limited, on the CPU backend.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{run, superstep, tools_are_here};
use serde_json::Value;
use sha2::Digest;

/// Doubles numbers, and behaves as its first argument says. The second one names a file that counts the runs.
const PROGRAM: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <cuda_runtime.h>
__global__ void twice(float *numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
int main(int argc, char **argv) {
  const char *mode = argv[1];
  int earlier = 0;
  if (argc > 2) {
    if (FILE *file = std::fopen(argv[2], "r")) {
      if (std::fscanf(file, "%d", &earlier) != 1) return 2;
      std::fclose(file);
    }
    FILE *file = std::fopen(argv[2], "w");
    std::fprintf(file, "%d", earlier + 1);
    std::fclose(file);
  }
  if (!std::strcmp(mode, "flaky") && earlier == 0) return 9;
  if (!std::strcmp(mode, "hungry")) {
    for (;;) {
      volatile char *bytes = static_cast<char *>(std::malloc(1 << 20));
      for (int i = 0; i < 1 << 20; i += 4096) bytes[i] = 1;
    }
  }
  float *device;
  cudaMalloc(&device, 1024 * sizeof(float));
  cudaMemset(device, 0, 1024 * sizeof(float));
  int launches = !std::strcmp(mode, "varies") && earlier >= 4 ? 3 : 2;
  for (int i = 0; i < launches; ++i) twice<<<8, 128>>>(device);
  cudaDeviceSynchronize();
  if (!std::strcmp(mode, "slow")) usleep(150000);
  std::printf("PASSED\n");
}
"#;

/// Writes a suite whose benchmarks are (name, arguments, further lines of the manifest).
fn write_suite(folder: &Path, benchmarks: &[(&str, &str, &str)]) {
    let suite = folder.join("suite");
    fs::create_dir_all(&suite).unwrap();
    let names: Vec<_> = benchmarks.iter().map(|(name, ..)| *name).collect();
    let text = format!(
        "schema: 1\nname: toys\ntitle: Toys\nsource: {{in-tree: true}}\ndefault-size: tiny\nbenchmarks: [{}]\n",
        names.join(", ")
    );
    fs::write(suite.join("suite.yaml"), text).unwrap();
    fs::write(suite.join("toy.cu"), PROGRAM).unwrap();
    for (name, args, more) in benchmarks {
        let text = format!(
            "schema: 1\nname: {name}\ntitle: Toy\nwhy: it is small\ndirectory: .\nfiles: [toy.cu]\n\
             translation-units: [{{file: toy.cu, language: cuda}}]\n{more}\nsizes:\n  tiny: {{args: [{args}]}}\n"
        );
        fs::write(suite.join(format!("{name}.yaml")), text).unwrap();
    }
}

fn suite(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = superstep(folder);
    command.args(["suite", "./suite", "--backend", "cpu"]);
    command.args(arguments);
    command
}

fn summary(run: &Path) -> Value {
    let path = run.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A run that is going on and prints its messages.
struct Going {
    child: Child,
    messages: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Going {
    fn start(folder: &Path, arguments: &[&str]) -> Going {
        let mut child = suite(folder, arguments)
            .args(["--message-format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let messages = BufReader::new(child.stdout.take().unwrap()).lines();
        Going { child, messages }
    }

    /// Waits until the message `reason` came for the `count`th time.
    fn wait_for(&mut self, reason: &str, count: usize) {
        let wanted = format!("\"reason\":\"{reason}\"");
        let mut seen = 0;
        for line in self.messages.by_ref() {
            seen += usize::from(line.unwrap().contains(&wanted));
            if seen == count {
                return;
            }
        }
        panic!("the run ended before message {count} of {reason}");
    }

    /// Sends a signal and gives the exit code, -1 for none.
    fn signal(mut self, name: &str) -> i32 {
        if name == "KILL" {
            self.child.kill().unwrap();
        } else {
            let id = self.child.id().to_string();
            let sent = Command::new("kill").args(["-s", name, &id]).status();
            assert!(sent.unwrap().success());
        }
        self.messages.by_ref().for_each(drop);
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

/// The run folders of the suite.
fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("out/toys")).into_iter().flatten();
    let mut runs: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.path())
        .collect();
    runs.sort();
    runs
}

/// Files below `folder`, relative to it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found
}

/// A summary without what differs between any two runs: times, sizes of compressed files, and the history.
fn lasting(mut summary: Value) -> Value {
    let top = summary.as_object_mut().unwrap();
    for name in ["started", "finished", "command", "resumed"] {
        assert!(top.remove(name).is_some(), "{name}");
    }
    for benchmark in top["benchmarks"].as_array_mut().unwrap() {
        for name in ["seconds", "kernel_times", "capture_bytes"] {
            assert!(benchmark.as_object_mut().unwrap().remove(name).is_some());
        }
    }
    summary
}

#[test]
fn a_run_that_is_killed_anywhere_and_continued_gives_the_results_of_one_run() {
    if !tools_are_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let three = [("a", "slow", ""), ("b", "slow", ""), ("c", "slow", "")];
    write_suite(folder, &three);
    // Killed while it builds, which is before there is anything to continue, or with an empty run.
    let mut going = Going::start(folder, &["--resume"]);
    going.wait_for("build-step", 2);
    going.signal("KILL");
    let (code, _, err) = run(&mut suite(folder, &[]));
    assert_eq!(code, 0, "{err}");
    let whole = runs(folder).pop().unwrap();
    assert_eq!(summary(&whole)["complete"], true);

    // The newest run is complete: this is a new one, killed again and again, each time a little later.
    let count = runs(folder).len() + 1;
    for (reason, number, milliseconds, signal) in [
        ("run-started", 1, 0, "KILL"),
        ("benchmark-started", 1, 40, "KILL"),
        ("benchmark-started", 1, 250, "KILL"),
        ("benchmark-finished", 1, 0, "KILL"),
        ("benchmark-started", 2, 90, "INT"),
        ("benchmark-started", 2, 300, "KILL"),
        ("build-step", 1, 0, "INT"),
        ("benchmark-started", 3, 20, "TERM"),
        ("benchmark-finished", 3, 0, "KILL"),
    ] {
        let mut going = Going::start(folder, &["--resume"]);
        going.wait_for(reason, number);
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        let code = going.signal(signal);
        let expected = if signal == "KILL" { -1 } else { 130 };
        assert_eq!(code, expected, "{reason} {number}");
        assert_eq!(runs(folder).len(), count, "each time the same run");
        let left = summary(&runs(folder).pop().unwrap());
        assert_eq!(left["complete"], false, "{reason} {number}");
    }
    let (code, _, err) = run(&mut suite(folder, &["--resume"]));
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("3 of 3 benchmarks have their results"),
        "{err}"
    );
    assert_eq!(runs(folder).len(), count);
    let pieces = runs(folder).pop().unwrap();
    let (a, b) = (summary(&whole), summary(&pieces));
    assert_eq!(b["resumed"].as_array().unwrap().len(), 9);
    assert_eq!(lasting(a), lasting(b));
    assert_eq!(files(&whole), files(&pieces));
    let (code, out, _) = run(superstep(folder).arg("compare").args([&whole, &pieces]));
    assert_eq!(code, 0, "{out}");

    // Other options are not continued with; without --resume there is a new run.
    let mut going = Going::start(folder, &[]);
    going.wait_for("benchmark-finished", 1);
    going.signal("KILL");
    let (code, _, err) = run(&mut suite(folder, &["--resume", "--only", "a"]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("this command selects a"), "{err}");
    let (code, _, err) = run(&mut suite(
        folder,
        &[&format!("--resume={}", pieces.display())],
    ));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("it is complete"), "{err}");
}

#[test]
fn repeats_retries_and_limits_are_told() {
    if !tools_are_here() {
        return;
    }
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
        let time = |which: &str| spread[which].as_f64().unwrap();
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
        "a wrong trace is not run away from"
    );
    let flaky = benchmark("flaky");
    assert_eq!(flaky["status"], "passed", "{flaky}");
    assert_eq!(flaky["earlier_attempts"][0]["kind"], "run", "{flaky}");
    assert!(out.contains("passed after 1 failed attempt"), "{out}");
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
    // The capture says which sources it is of.
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
