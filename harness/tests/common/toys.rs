//! A suite of small programs, interruptible runs of the suite, and their results.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::superstep;

/// A program that doubles numbers. The first argument selects a mode; the second names a file that counts the runs, or
/// one that a traced `litters` creates in the folder of its captures before it sleeps.
pub const PROGRAM: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <cuda_runtime.h>
__global__ void twice(float *numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
int main(int argc, char **argv) {
  const char *mode = argv[1];
  int earlier = 0;
  const char *capture = std::getenv("SUPERSTEP_CAPTURE");
  bool litters = !std::strcmp(mode, "litters");
  if (argc > 2 && !litters) {
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
  if (litters && capture) {
    std::string path(capture, std::strrchr(capture, '/') + 1);
    std::fclose(std::fopen((path + argv[2]).c_str(), "w"));
    sleep(60);
  }
  std::printf("PASSED\n");
}
"#;

/// Writes a suite of benchmarks, given as (name, arguments, additional manifest lines).
pub fn write_suite(folder: &Path, benchmarks: &[(&str, &str, &str)]) {
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

pub fn suite(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = superstep(folder);
    command.args(["suite", "./suite", "--backend", "cpu"]);
    command.args(arguments);
    command
}

pub fn summary(run: &Path) -> Value {
    let path = run.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A running suite, and the messages that it prints.
pub struct SuiteProcess {
    pub child: Child,
    messages: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl SuiteProcess {
    pub fn start(folder: &Path, arguments: &[&str]) -> SuiteProcess {
        let mut child = suite(folder, arguments)
            .args(["--message-format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let messages = BufReader::new(child.stdout.take().unwrap()).lines();
        SuiteProcess { child, messages }
    }

    /// Waits until the message `reason` appears for the `count`th time.
    pub fn wait_for(&mut self, reason: &str, count: usize) {
        let wanted = format!("\"reason\":\"{reason}\"");
        let mut seen = 0;
        for line in self.messages.by_ref() {
            seen += usize::from(line.unwrap().contains(&wanted));
            if seen == count {
                return;
            }
        }
        panic!("the run ended before `{reason}` appeared {count} times");
    }

    /// Sends a signal and returns the exit code, or -1 if there is none.
    pub fn signal(mut self, name: &str) -> i32 {
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

/// Returns the run folders of the suite.
pub fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("out/toys")).into_iter().flatten();
    let mut runs: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.path())
        .collect();
    runs.sort();
    runs
}

/// Returns the files below `folder`, relative to it.
pub fn files(folder: &Path) -> BTreeSet<PathBuf> {
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

/// Returns a summary without the values that differ from run to run: times, sizes of compressed files, and the
/// history.
pub fn reproducible(mut summary: Value) -> Value {
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
