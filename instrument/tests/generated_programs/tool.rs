//! Programs that the tests run: the instrumenter, Clang, and the driver.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use superstep_trace::ModuleTable;

/// Returns the path of LLVM 22's Clang.
fn clang() -> PathBuf {
    let prefix = option_env!("LLVM_SYS_221_PREFIX").unwrap_or("/usr/lib/llvm-22");
    let path = Path::new(prefix).join("bin/clang");
    if path.exists() {
        path
    } else {
        "clang-22".into()
    }
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command
        .output()
        .map_err(|error| format!("failed to run {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!(
        "{command:?} failed with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Runs Clang.
pub fn compile<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Result<(), String> {
    run(Command::new(clang()).args(arguments)).map(|_| ())
}

/// Files that all programs share: the driver, and the bitcode that is linked into each module.
pub struct Shared {
    folder: tempfile::TempDir,
}

impl Shared {
    /// Returns the files, compiled once for the whole test.
    pub fn get() -> &'static Shared {
        static SHARED: OnceLock<Shared> = OnceLock::new();
        SHARED.get_or_init(|| Shared::build().unwrap())
    }

    fn build() -> Result<Shared, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = crate_folder.join("tests/generated_programs");
        let include = format!("-I{}", crate_folder.join("../runtime/cpu/device").display());
        let shared = Shared { folder };
        let (driver, device) = (source.join("driver.c"), source.join("device.c"));
        let common = ["-O2", "-Wall", "-Wextra", "-Werror", &include];
        compile(
            common
                .iter()
                .map(OsStr::new)
                .chain(["-fPIE".as_ref(), "-c".as_ref(), driver.as_os_str()])
                .chain(["-o".as_ref(), shared.driver().as_os_str()]),
        )?;
        compile(
            common
                .iter()
                .map(OsStr::new)
                .chain(["-fPIC", "-c", "-emit-llvm"].map(OsStr::new))
                .chain([
                    device.as_os_str(),
                    "-o".as_ref(),
                    shared.device().as_os_str(),
                ]),
        )?;
        Ok(shared)
    }

    fn driver(&self) -> PathBuf {
        self.folder.path().join("driver.o")
    }

    fn device(&self) -> PathBuf {
        self.folder.path().join("device.bc")
    }

    /// Links objects with the driver, runs the program, and returns the driver's output. An error includes the
    /// failed stage.
    pub fn drive(
        &self,
        folder: &Path,
        objects: &[PathBuf],
    ) -> Result<Vec<u64>, (&'static str, String)> {
        let (program, result) = (folder.join("program"), folder.join("result"));
        let options = ["-O0", "-fPIE", "-pie", "-Wno-override-module", "-o"].map(Path::new);
        let driver = self.driver();
        let arguments = options.into_iter().chain([program.as_path(), &driver]);
        compile(arguments.chain(objects.iter().map(PathBuf::as_path)))
            .map_err(|error| ("build", error))?;
        run(Command::new(&program).arg(&result)).map_err(|error| ("run", error))?;
        let bytes = std::fs::read(&result).map_err(|error| ("run", error.to_string()))?;
        Ok(bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect())
    }
}

/// Arguments of the instrumenter.
#[derive(Clone, Copy)]
pub struct Instrumentation<'a> {
    /// Input: IR or bitcode.
    pub input: &'a Path,
    /// Bitcode to write.
    pub output: &'a Path,
    /// `cpu` or `cuda`.
    pub backend: &'a str,
    /// `none` or `trace`.
    pub probe: &'a str,
    /// Index of the module.
    pub module: usize,
    /// `late` or `early`.
    pub position: &'a str,
    /// Additional options.
    pub options: &'a [&'a str],
}

impl Instrumentation<'_> {
    /// Runs the instrumenter; an error contains its message.
    pub fn run(&self) -> Result<ModuleTable, String> {
        let table = self.output.with_extension("json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_superstep-instrument"));
        command
            .args([
                "--backend",
                self.backend,
                "--probe",
                self.probe,
                "--at",
                self.position,
            ])
            .args(["--module-index", &self.module.to_string()])
            .args(self.options)
            .arg(self.input)
            .args(["-o".as_ref(), self.output.as_os_str()])
            .args(["--table".as_ref(), table.as_os_str()]);
        if self.backend == "cpu" {
            command.arg("--support").arg(Shared::get().device());
        }
        run(&mut command)?;
        let json = std::fs::read(&table).map_err(|error| error.to_string())?;
        ModuleTable::from_json(&json).map_err(|error| error.to_string())
    }
}
