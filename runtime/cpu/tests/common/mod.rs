//! Builds and runs the test program in `tests/programs`: a host program, linked with the runtime under test, that loads
//! kernels written in C as the instrumenter would emit them, with the real support code and probe handlers.

#![allow(dead_code, reason = "each test file uses only part of this module")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use superstep_trace::{Capture, Summary};

/// Environment variable that CI sets to 1 to turn a missing tool into an error.
const REQUIRE: &str = "SUPERSTEP_REQUIRE_TOOLS";

/// Returns the path of an LLVM 22 tool, or prints that it is missing.
pub fn tool(name: &str) -> Option<PathBuf> {
    let candidates = [
        PathBuf::from(format!("{name}-22")),
        Path::new("/usr/lib/llvm-22/bin").join(name),
    ];
    let found = candidates.into_iter().find(|path| {
        Command::new(path)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        let reason = format!("{name} from LLVM 22 is not installed");
        assert!(
            std::env::var_os(REQUIRE).is_none_or(|value| value != "1"),
            "{REQUIRE}=1, but {reason}"
        );
        eprintln!("skipped: {reason}");
    }
    found
}

/// Returns the folder that contains the package's device code.
pub fn device_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("device")
}

/// Returns the device code's `.c` files whose names start with `prefix`.
pub fn device_files(prefix: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(device_folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(prefix) && name.ends_with(".c")
        })
        .collect();
    files.sort();
    files
}

/// Returns the folder with the shared library, next to the test binaries.
pub fn library_folder() -> PathBuf {
    let deps = std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let folder = [deps.clone(), deps.parent().unwrap().to_owned()]
        .into_iter()
        .find(|folder| folder.join("libsuperstep_cudart_cpu.so").exists());
    folder.expect("cargo builds the shared library before the tests")
}

pub fn check(output: &Output, what: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

/// The program and the modules that it loads, one for each probe.
pub struct Programs {
    folder: PathBuf,
    _guard: tempfile::TempDir,
}

/// Builds the programs once; returns `None` if clang is missing.
pub fn programs() -> Option<&'static Programs> {
    static PROGRAMS: OnceLock<Option<Programs>> = OnceLock::new();
    PROGRAMS.get_or_init(build).as_ref()
}

fn build() -> Option<Programs> {
    let clang = tool("clang")?;
    let guard = tempfile::tempdir().unwrap();
    let folder = guard.path().to_owned();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let compile = |source: &Path, object: &str, flags: &[String]| {
        let object = folder.join(object);
        let flags = ["-std=gnu17", "-O2", "-fPIC", "-Wall", "-Werror", "-c"]
            .iter()
            .map(ToString::to_string)
            .chain(flags.to_vec());
        let output = Command::new(&clang)
            .args(flags)
            .arg(source)
            .arg("-o")
            .arg(&object)
            .output()
            .unwrap();
        check(&output, &format!("compiling {}", source.display()));
        object
    };
    let link = |objects: &[PathBuf], flags: &[&str], name: &str| {
        let mut command = Command::new(&clang);
        let command = command.args(objects).args(flags).arg("-lm");
        let output = command.arg("-o").arg(folder.join(name)).output().unwrap();
        check(&output, "linking");
    };
    let library = library_folder().display().to_string();
    let host = compile(&sources.join("host.c"), "host.o", &[]);
    let runtime = [
        &format!("-L{library}"),
        "-lsuperstep_cudart_cpu",
        &format!("-Wl,-rpath,{library}"),
    ];
    link(&[host], &runtime, "program");
    let mut shared = Vec::new();
    for file in device_files("support_") {
        let name = format!("{}.o", file.file_stem().unwrap().to_string_lossy());
        shared.push(compile(&file, &name, &[]));
    }
    for probe in ["trace", "count"] {
        let handler = device_folder().join(format!("probe_{probe}.c"));
        let flags = [
            format!("-I{}", device_folder().display()),
            format!("-DPROBE=\"{probe}\""),
        ];
        let module = [
            compile(&handler, &format!("probe_{probe}.o"), &[]),
            compile(
                &sources.join("device.c"),
                &format!("device_{probe}.o"),
                &flags,
            ),
        ];
        link(
            &[&shared[..], &module].concat(),
            &["-shared"],
            &format!("{probe}.so"),
        );
        let list = format!("3\t3\tstream\t{probe}.so\n");
        std::fs::write(folder.join(format!("{probe}.txt")), list).unwrap();
    }
    Some(Programs {
        folder,
        _guard: guard,
    })
}

/// The results of a run.
pub struct Run {
    pub output: Output,
    pub summary: Option<Summary>,
    folder: tempfile::TempDir,
}

impl Programs {
    /// Runs a scenario with `workers` workers, a capture and a summary.
    pub fn run(&self, probe: &str, arguments: &[&str], workers: u32) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let summary_file = folder.path().join("summary.json");
        let output = Command::new(self.folder.join("program"))
            .args(arguments)
            .env(
                "SUPERSTEP_MODULES",
                self.folder.join(format!("{probe}.txt")),
            )
            .env("SUPERSTEP_CAPTURE", folder.path().join("capture"))
            .env("SUPERSTEP_SUMMARY", &summary_file)
            .env("SUPERSTEP_CPU_THREADS", workers.to_string())
            .output()
            .unwrap();
        let summary = Summary::read(&summary_file).ok();
        Run {
            output,
            summary,
            folder,
        }
    }
}

impl Run {
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// Asserts that the run's exit status is 0 and its last line is "done".
    pub fn assert_done(&self, what: &str) {
        check(&self.output, what);
        assert!(
            self.stdout().ends_with("done\n"),
            "{what}: {}",
            self.stdout()
        );
    }

    pub fn capture(&self) -> Capture {
        Capture::open(self.folder.path().join("capture")).unwrap()
    }
}
