//! Runs a program with this library and stand-ins for libcudart, libcuda and a proprietary library, without a GPU.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use superstep_trace::{Capture, LaunchEnd, LaunchOutcome, LaunchRecord, StreamId, Summary};

/// Returns the cdylib that cargo built for this test. (Only `cargo build` updates the copy in the parent folder.)
pub fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    test.with_file_name("libsuperstep_cuda.so")
}

pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake")
}

pub struct Program {
    pub folder: tempfile::TempDir,
}

pub struct Run {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    summary: Option<Summary>,
    pub capture: Capture,
}

/// Returns the table of the program's traced kernels.
fn table(probe: &str) -> String {
    let site = |id: u32, op: &str| {
        format!(
            r#"{{"id":{id},"function":"f","file":"a.cu","line":1,"column":1,"op":"{op}","width_bytes":4,"proof":"proven"}}"#
        )
    };
    let kernel = |name: &str| format!(r#"{{"name":"{name}","display_name":"k","parameters":2}}"#);
    let names = [
        "_Z6tracedPfm",
        "_Z8faultingPfm",
        "_Z7endlessPfm",
        "_Z4slowPfm",
    ];
    format!(
        r#"{{"schema_version":1,"module":0,"name":"a.cu","backend":"cuda","probe":"{probe}","sites":[{},{}],"kernels":[{}]}}"#,
        site(0, "load"),
        site(1, "store"),
        names.map(kernel).join(",")
    )
}

pub fn compile(arguments: &[&std::ffi::OsStr]) -> Output {
    let output = Command::new("cc")
        .args(["-O1", "-g", "-w"])
        .args(arguments)
        .output()
        .expect("cc starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

impl Program {
    pub fn build(probe: &str) -> Self {
        Self::build_with(probe, "program.c", "thesis")
    }

    pub fn build_with(probe: &str, program: &str, protocol: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::copy(library(), at("libsuperstep_cuda.so")).expect("cargo built the library");
        compile(&[
            "-shared".as_ref(),
            "-Wl,-Bsymbolic".as_ref(),
            "-fPIC".as_ref(),
            "-pthread".as_ref(),
            "-Wl,-soname,libcudart.so.12".as_ref(),
            sources().join("cudart.c").as_os_str(),
            sources().join("graphs.c").as_os_str(),
            "-o".as_ref(),
            at("libcudart.so.12").as_os_str(),
        ]);
        let driver: &[&str] = match program {
            "in_situ.c" | "graph_copies.c" | "graph_nodes.c" => &["cuda.c", "graphs.c"],
            _ => &["cuda.c"],
        };
        for (files, library) in [(driver, "libcuda.so.1"), (&["closed.c"], "libclosed.so")] {
            let files: Vec<_> = files.iter().map(|file| sources().join(file)).collect();
            let files: Vec<_> = files.iter().map(|file| file.as_os_str()).collect();
            let name = format!("-Wl,-soname,{library}");
            let flags = ["-shared", "-Wl,-Bsymbolic", "-fPIC", &name, "-o"].map(AsRef::as_ref);
            compile(&[&flags[..], &[at(library).as_os_str()], &files].concat());
        }
        for (name, text) in [
            ("binary", "the binary\0"),
            ("table.json", &table(probe)),
            (
                "modules.txt",
                &format!("0abc\t0\t{protocol}\tbinary\ttable.json\n"),
            ),
        ] {
            std::fs::write(at(name), text).expect("a file can be written");
        }
        compile(&[
            format!("-DPROBE=\"{probe}\"").as_ref(),
            "-pthread".as_ref(),
            sources().join(program).as_os_str(),
            at("libsuperstep_cuda.so").as_os_str(),
            at("libcudart.so.12").as_os_str(),
            "-Wl,-rpath,$ORIGIN".as_ref(),
            "-o".as_ref(),
            at("program").as_os_str(),
        ]);
        Program { folder }
    }

    pub fn run(&self, mode: &str) -> Run {
        self.run_with(mode, &[])
    }

    pub fn run_with(&self, mode: &str, environment: &[(&str, &str)]) -> Run {
        let at = |name: &str| self.folder.path().join(name);
        let mut child = Command::new(at("program"))
            .arg(mode)
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("SUPERSTEP_CAPTURE", at("capture"))
            .env("SUPERSTEP_SUMMARY", at("summary.json"))
            .env("SUPERSTEP_BINS", "2")
            .env("SUPERSTEP_BIN_RECORDS", "64")
            .env("SUPERSTEP_PROTOCOL", "thesis")
            .env("SUPERSTEP_MODULES", at("modules.txt"))
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let started = Instant::now();
        while child
            .try_wait()
            .expect("the child can be waited for")
            .is_none()
        {
            if started.elapsed() > Duration::from_secs(60) {
                let _ = child.kill();
                panic!("{mode}: the program hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().expect("the output can be read");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let summary = Summary::read(&at("summary.json")).ok();
        Run {
            status: output.status,
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            summary,
            capture: Capture::open(at("capture")).expect("the capture can be read"),
        }
    }
}

impl Run {
    pub fn summary(&self) -> &Summary {
        self.summary
            .as_ref()
            .unwrap_or_else(|| panic!("no summary; {}", self.stderr))
    }

    /// Returns the stream, number and accesses of every launch that ended, and why it failed.
    pub fn endings(&self) -> Vec<(u32, u32, u64, Option<String>)> {
        let ending = |end: &LaunchEnd| {
            let failure = match &end.outcome {
                LaunchOutcome::Completed => None,
                LaunchOutcome::Failed(reason) => Some(reason.clone()),
            };
            (end.stream.0, end.launch.0, end.thread_accesses, failure)
        };
        let ends = self.capture.launches().filter_map(|record| record.end);
        let mut endings: Vec<_> = ends.map(ending).collect();
        endings.sort();
        endings
    }

    /// Checks the accesses in `stream` and returns their number.
    pub fn accesses(&self, stream: u32) -> u64 {
        let mut accesses = 0;
        let check = |record: &LaunchRecord, group: &superstep_trace::AccessGroup| {
            let launch = record.launch;
            if launch.stream != StreamId(stream) {
                return;
            }
            assert_eq!(
                (group.mask, group.width_bytes, group.warp),
                (u32::MAX, 4, 0)
            );
            assert!(group.site.0 < 2 && group.cta < 8 && launch.kernel.contains("Pfm"));
            assert!(
                group
                    .active_addresses()
                    .windows(2)
                    .all(|pair| pair[1] == pair[0] + 4)
            );
            accesses += 32;
        };
        self.capture.groups(check).expect("the stream can be read");
        accesses
    }
}
