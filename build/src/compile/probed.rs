//! Builds a program with a user-defined probe.

use std::fs;
use std::path::{Path, PathBuf};

use superstep_trace::{Backend, Probe};

use crate::compile::device::support::DEVICE_PASSES;
use crate::compile::steps::stage::{Args, BITCODE, LIBRARY, Subject};
use crate::compile::unit::{FRONT_END_ONLY, Inserted};
use crate::compile::{BuildError, Builder, Program, Result};
use crate::probe::{self, Probe as Definition};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedExecutables {
    pub native: PathBuf,
    pub probed: PathBuf,
}

impl Builder {
    pub fn build_probed(&self, program: &Program, probe: &Definition) -> Result<ProbedExecutables> {
        let parts = self.parts(program)?;
        let no_probe = self.no_probe()?;
        let insert = |probe: &Option<&Definition>| {
            let no_probe = no_probe.clone();
            let Some(probe) = probe else {
                return Ok(no_probe);
            };
            let spec = serde_json::to_vec(&probe.spec).expect("a specification is plain data");
            let host = probe.host.as_deref();
            let host = host.map(|file| self.host_hooks(probe, file));
            Ok(Inserted {
                probe: Probe::Defined,
                spec: Some(self.runner.text_file("probe.json", &spec)?),
                handler: Some(self.defined_handler(probe)?),
                host: host.transpose()?,
                ..no_probe
            })
        };
        let [native, probed] = self.variants(program, &parts, &[None, Some(probe)], insert)?;
        Ok(ProbedExecutables { native, probed })
    }

    fn defined_handler(&self, probe: &Definition) -> Result<PathBuf> {
        let path = &probe.handler;
        let text = fs::read_to_string(path).map_err(BuildError::io("read", path))?;
        let source = probe::source(&probe.spec, &probe.file, &text, path);
        let source = self.runner.text_file("handler.cu", source)?;
        let on_cpu = self.options.backend == Backend::Cpu;
        let args = self
            .device_flags()
            .texts(on_cpu.then_some("-DSUPERSTEP_CPU"))
            .texts(["-emit-llvm", "-c"])
            .texts(FRONT_END_ONLY);
        let front_end = self.compile_for("probe handler", probe, path, args, source, BITCODE)?;
        let passes = Args::of(["--passes", DEVICE_PASSES]);
        self.prepare(subject(probe, path), &front_end, passes)
    }

    fn host_hooks(&self, probe: &Definition, file: &Path) -> Result<PathBuf> {
        let text = fs::read_to_string(file).map_err(BuildError::io("read", file))?;
        let source = probe::host_source(&text, file);
        let source = self.runner.text_file("host.cpp", source)?;
        let args = Args::of(["-x", "c++", "-std=c++17", "-O2", "-Wall"]);
        let args = args.texts(["-fPIC", "-shared"]);
        self.compile_for("probe host code", probe, file, args, source, LIBRARY)
    }

    /// Compiles `source` in place of a probe's `file`, in that file's folder.
    fn compile_for(
        &self,
        name: &'static str,
        probe: &Definition,
        file: &Path,
        args: Args,
        source: PathBuf,
        output: &'static str,
    ) -> Result<PathBuf> {
        let args = args
            .place("-I", &self.installation.folder("probes/include")?)
            .text("-I.")
            .reading_headers()
            .input(source);
        (self.runner).file(name, &self.clang(), subject(probe, file), args, output)
    }
}

fn subject<'a>(probe: &'a Definition, file: &'a Path) -> Subject<'a> {
    let folder = file.parent().filter(|path| !path.as_os_str().is_empty());
    Subject::of(&probe.spec.name, folder.unwrap_or(Path::new(".")))
}
