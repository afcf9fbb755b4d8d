//! What the integration tests share: the real binary, small suites, synthetic captures.
#![allow(dead_code, reason = "each test file uses its own part of this")]

pub mod toys;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use superstep_trace::{
    AccessGroup, AllocationId, AllocationKind, Backend, CaptureWriter, ChunkBuilder, CopyDirection,
    DeviceInfo, Event, Header, KernelInfo, Launch, LaunchId, LaunchOutcome, ModuleTable, Op,
    Outcome, Probe, Proof, Site, SiteId, StreamId, TABLE_SCHEMA_VERSION,
};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// The binary under test, with a cache of its own in `folder`, but with the CUDA pieces of this machine: they may lie in
/// the user's cache.
pub fn superstep(folder: &Path) -> Command {
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

/// Whether everything that builds programs is here. Says why not; `SUPERSTEP_REQUIRE_TOOLS=1` makes that a failure.
pub fn tools_are_here() -> bool {
    let binaries = Path::new(env!("CARGO_BIN_EXE_superstep")).parent().unwrap();
    let absent = ["superstep-instrument", "libsuperstep_cudart_cpu.so"]
        .into_iter()
        .find(|name| !binaries.join(name).is_file());
    let reason = match (superstep_toolchain::Toolchain::locate(), absent) {
        (Err(missing), _) => missing.to_string(),
        (Ok(_), Some(name)) => {
            format!("{name} is not built beside the superstep binary; run `cargo xtask test`")
        }
        (Ok(_), None) => return true,
    };
    assert!(
        std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_none_or(|value| value != "1"),
        "tools are required: {reason}"
    );
    eprintln!("skipped: {reason}");
    false
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

fn site(local: u16, op: Op, width_bytes: u32, line: u32) -> Site {
    Site {
        id: SiteId::new(0, local),
        function: "_Z5twicePfi".into(),
        file: "toy.cu".into(),
        line,
        column: 3,
        op,
        width_bytes,
        proof: Proof::Proven,
    }
}

/// The table of the synthetic capture.
pub fn table() -> ModuleTable {
    ModuleTable {
        opaque_assembly: 0,
        defined: None,
        schema_version: TABLE_SCHEMA_VERSION,
        module: 0,
        name: "toy.cu".into(),
        backend: Backend::Cpu,
        probe: Probe::Trace,
        sites: vec![
            site(0, Op::Load, 4, 6),
            site(1, Op::Store, 4, 6),
            site(2, Op::AtomicAdd, 8, 7),
        ],
        kernels: vec![KernelInfo {
            name: "_Z5twicePfi".into(),
            display_name: "twice".into(),
            parameters: 2,
        }],
    }
}

/// Writes a capture of two launches of `twice` on two CTAs of 64 threads; without `finished`, it ends like that of a killed program,
/// in the middle of the second launch.
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
    let writer = CaptureWriter::create(folder, &header).unwrap();
    writer.module(&table()).unwrap();
    let base = 0x7f00_0000_0000;
    let kind = AllocationKind::Device;
    writer
        .event(&Event::Allocate {
            sequence: 0,
            id: AllocationId(0),
            address: base,
            bytes: 1024,
            kind,
            place: None,
        })
        .unwrap();
    let direction = CopyDirection::HostToDevice;
    writer
        .event(&Event::Copy {
            sequence: 1,
            direction,
            destination: base,
            source: 64,
            bytes: 512,
            stream: StreamId(0),
        })
        .unwrap();
    let stream = writer.stream(StreamId(0)).unwrap();
    for number in 0..2u32 {
        let launch = Launch {
            sequence: 2 + u64::from(number),
            stream: StreamId(0),
            launch: LaunchId(number),
            kernel: "_Z5twicePfi".into(),
            grid: [2, 1, 1],
            block: [64, 1, 1],
            dynamic_shared_bytes: 0,
            static_shared_bytes: 0,
        };
        writer.event(&Event::Launch(launch)).unwrap();
        let mut chunk = ChunkBuilder::new(LaunchId(number));
        for (cta, warp) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let start = base + 4 * u64::from(64 * cta + 32 * warp);
            for (local, mask) in [(0, u32::MAX), (1, u32::MAX >> number)] {
                let mut group = AccessGroup {
                    site: SiteId::new(0, local),
                    cta,
                    warp,
                    mask,
                    width_bytes: 4,
                    ..AccessGroup::EMPTY
                };
                for (lane, address) in group.addresses.iter_mut().enumerate() {
                    *address = start + 4 * lane as u64;
                }
                chunk.push(&group);
            }
            let mut group = AccessGroup {
                site: SiteId::new(0, 2),
                cta,
                warp,
                mask: 0b101,
                width_bytes: 8,
                ..AccessGroup::EMPTY
            };
            group.addresses[..2].copy_from_slice(&[base + 512, base + 512 + 8 * u64::from(cta)]);
            chunk.push(&group);
        }
        let thread_accesses = chunk.thread_accesses();
        stream.write(chunk).unwrap();
        if number == 0 || finished {
            let (stream, launch, outcome) =
                (StreamId(0), LaunchId(number), LaunchOutcome::Completed);
            writer
                .event(&Event::LaunchEnd {
                    stream,
                    launch,
                    thread_accesses,
                    elapsed_ns: 1000,
                    outcome,
                })
                .unwrap();
        }
    }
    if finished {
        writer.finish(&Outcome::Finished).unwrap();
    }
}
