//! Code shared by the integration tests: the real binary, small suites, synthetic captures.
#![allow(dead_code, reason = "each test file uses some of these items")]

pub mod toys;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{
    AccessGroup, AllocationKind, Backend, CopyDirection, DeviceInfo, Header, ModuleTable, Op, Site,
};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// Returns a command that runs the binary under test with its cache in `folder`; all tests share the compiled steps.
pub fn superstep(folder: &Path) -> Command {
    let steps = Path::new(env!("CARGO_TARGET_TMPDIR")).join("steps");
    let cache = folder.join("cache");
    fs::create_dir_all(&steps).unwrap();
    // Both calls fail if an earlier command in the test has already created the folder and the link.
    let _ = fs::create_dir(&cache);
    let _ = std::os::unix::fs::symlink(steps, cache.join("build"));
    superstep_alone(folder)
}

/// Returns a command that runs the binary under test with its cache in `folder`, but with this machine's CUDA
/// components, which may be in the user's cache.
pub fn superstep_alone(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
    command
        .current_dir(folder)
        .env("SUPERSTEP_ROOT", root())
        .env("SUPERSTEP_CACHE", folder.join("cache"))
        .env("NO_COLOR", "1");
    if let Ok(tools) = superstep_toolchain::Toolchain::locate() {
        command.env("SUPERSTEP_CUDA", tools.cuda.root);
    }
    command
}

/// Runs the binary and returns its exit code, standard output and standard error.
pub fn run(command: &mut Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

/// Replaces each sequence of spaces and line breaks in `text` with one space.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a suite of one benchmark, `toy`, into `folder/suite`. `source` and `size` are YAML.
pub fn write_suite(folder: &Path, source: &str, size: &str, program: &str) -> PathBuf {
    let suite = folder.join("suite");
    fs::create_dir_all(&suite).unwrap();
    let text = format!(
        "schema: 1\nname: toys\ntitle: Toys\nsource: {source}\ndefault-size: tiny\nbenchmarks: [toy]\n"
    );
    fs::write(suite.join("suite.yaml"), text).unwrap();
    let text = format!(
        "schema: 1\nname: toy\ntitle: Toy\nwhy: it is small\ndirectory: .\nfiles: [toy.cu]\n\
         translation-units: [{{file: toy.cu, language: cuda}}]\ndeterministic: true\ntimeout-s: 60\nsizes:\n  tiny: {size}\n"
    );
    fs::write(suite.join("toy.yaml"), text).unwrap();
    fs::write(suite.join("toy.cu"), program).unwrap();
    suite
}

/// A program that doubles 1000 numbers and checks them.
pub const DOUBLE: &str = r#"
#include <cstdio>
#include <cuda_runtime.h>
__global__ void twice(float *numbers, int count) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) numbers[index] *= 2;
}
int main() {
  const int count = 1000;
  float host[count], *device;
  for (int i = 0; i < count; ++i) host[i] = i;
  if (cudaMalloc(&device, sizeof host) != cudaSuccess) return 2;
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  for (int i = 0; i < 2; ++i) twice<<<(count + 127) / 128, 128>>>(device, count);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  for (int i = 0; i < count; ++i) if (host[i] != 4.0f * i) return 3;
  std::printf("PASSED\n");
}
"#;

/// Returns the module table of the synthetic capture.
pub fn table() -> ModuleTable {
    let site = |local, op, width_bytes, line| Site {
        function: "_Z5twicePfi".into(),
        file: "toy.cu".into(),
        line,
        column: 3,
        width_bytes,
        ..testing::site(local, op)
    };
    let sites = vec![
        site(0, Op::Load, 4, 6),
        site(1, Op::Store, 4, 6),
        site(2, Op::AtomicAdd, 8, 7),
    ];
    testing::module("toy.cu", sites, &[("_Z5twicePfi", "twice")])
}

/// Writes a capture of two launches of `twice`, each with two CTAs of 64 threads. Unless `finished`, it ends in the
/// middle of the second launch, like the capture of a killed program.
pub fn write_capture(folder: &Path, finished: bool) {
    let header = Header {
        program: "toy".into(),
        arguments: vec!["--count".into(), "128".into()],
        device: DeviceInfo {
            name: "test device".into(),
            compute_capability: [9, 0],
            driver: None,
        },
        start_unix_ns: 1_700_000_000_000_000_000,
        ..Header::new(Backend::Cpu)
    };
    let mut capture = CaptureBuilder::with_header(folder, &header, &table());
    let base = 0x7f00_0000_0000;
    capture.allocate(base, 1024, AllocationKind::Device);
    capture.copy(CopyDirection::HostToDevice, base, 64, 512);
    for number in 0..2u32 {
        let launch = capture.begin(testing::launch("_Z5twicePfi", 2, 64));
        let mut groups = Vec::new();
        for (cta, warp) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let start = base + 4 * u64::from(64 * cta + 32 * warp);
            let part = testing::words(start).take(32 - number as usize);
            let shared = [base + 512, base + 512 + 8 * u64::from(cta)];
            let warp_groups = [
                testing::group(0, cta, testing::words(start)),
                testing::group(1, cta, part),
                AccessGroup {
                    mask: 0b101,
                    width_bytes: 8,
                    ..testing::group(2, cta, shared)
                },
            ];
            groups.extend(warp_groups.map(|group| AccessGroup { warp, ..group }));
        }
        capture.chunk(&launch, &groups);
        if number == 0 || finished {
            capture.end(&launch);
        }
    }
    if finished {
        capture.finish();
    }
}

/// Returns the start script of the traced program among the build steps, identified by its list of modules.
pub fn traced_program(steps: &Path) -> PathBuf {
    let folders = fs::read_dir(steps)
        .unwrap()
        .flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
    let programs = folders
        .map(|entry| entry.unwrap().path().join("program"))
        .filter(|path| path.is_file() && path.with_file_name("modules.txt").is_file());
    let is_traced = |path: &PathBuf| {
        let list = fs::read_to_string(path.with_file_name("modules.txt")).unwrap();
        let loaded = list.trim_end().split('\t').next_back().unwrap();
        let bytes = fs::read(loaded).unwrap();
        let marker = b"\"probe\":\"trace\"";
        bytes.windows(marker.len()).any(|window| window == marker)
    };
    programs
        .into_iter()
        .find(is_traced)
        .expect("a traced program was built")
}
