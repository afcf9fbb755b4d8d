//! Builds a program with a probe that a user defined.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use superstep_trace::{Backend, Probe};

use super::Program;
use super::builder::{Builder, Parts};
use super::error::BuildError;
use super::stage::{Arg, Stage};
use super::unit::Inserted;
use crate::probe::{self, Probe as Definition};

const BITCODE: &str = "out.bc";
const DEPENDENCIES: &str = "out.d";
const OBJECT: &str = "out.o";

/// A program without and with a probe. Both do the same work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedExecutables {
    /// Without probes.
    pub native: PathBuf,
    /// With the probe.
    pub probed: PathBuf,
}

impl Builder {
    /// Builds `program` without and with `probe`.
    pub fn build_probed(
        &self,
        program: &Program,
        probe: &Definition,
    ) -> Result<ProbedExecutables, BuildError> {
        let parts = self.parts(program)?;
        let (native, probed) = rayon::join(
            || self.variant(program, &parts, None),
            || self.variant(program, &parts, Some(probe)),
        );
        Ok(ProbedExecutables {
            native: native?,
            probed: probed?,
        })
    }

    /// Builds `program` with `probe`, or without one.
    pub fn build_one(
        &self,
        program: &Program,
        probe: Option<&Definition>,
    ) -> Result<PathBuf, BuildError> {
        self.variant(program, &self.parts(program)?, probe)
    }

    fn variant(
        &self,
        program: &Program,
        parts: &Parts<'_>,
        probe: Option<&Definition>,
    ) -> Result<PathBuf, BuildError> {
        let defined = match probe {
            None => None,
            Some(probe) => {
                let spec = serde_json::to_vec(&probe.spec).unwrap_or_default();
                let spec = self.runner.text_file("probe.json", &spec)?;
                Some((spec, self.defined_handler(probe)?))
            }
        };
        let support = parts.support.as_deref();
        let objects: Vec<Vec<PathBuf>> = (parts.modules.par_iter().zip(&parts.device_code))
            .map(|(module, ir)| {
                let nothing = Inserted::nothing(support);
                let code = match &defined {
                    Some((spec, handler)) => {
                        let inserted = Inserted {
                            probe: Probe::Defined,
                            spec: Some(spec),
                            handler: Some(handler),
                            ..nothing
                        };
                        self.instrument(module, ir, &inserted)?
                    }
                    None => self.instrument(module, ir, &nothing)?,
                };
                self.objects(module, ir, &code)
            })
            .collect::<Result<_, _>>()?;
        let host = (probe.and_then(|probe| Some((probe, probe.host.as_deref()?))))
            .map(|(probe, file)| self.host_hooks(probe, file))
            .transpose()?;
        let objects = objects.into_iter().flatten();
        let objects = objects.chain(parts.helpers.iter().cloned()).chain(host);
        self.link(program, objects.collect())
    }

    /// The handler with the code around it, as bitcode for the backend.
    fn defined_handler(&self, probe: &Definition) -> Result<PathBuf, BuildError> {
        let text =
            fs::read_to_string(&probe.handler).map_err(BuildError::io("read", &probe.handler))?;
        let source = probe::source(&probe.spec, &probe.file, &text, &probe.handler);
        let source = self.runner.text_file("handler.cu", source.as_bytes())?;
        let include = self.installation.folder("probes/include")?;
        let folder = folder_of(&probe.handler);
        let mut args: Vec<Arg> = ["-x", "cuda", "--cuda-device-only"].map(Arg::from).into();
        args.push(format!("--cuda-gpu-arch=sm_{}", self.options.lowest_arch()).into());
        args.push(Arg::Place(format!(
            "--cuda-path={}",
            self.tools.cuda_root.display()
        )));
        args.extend(["-Wno-unknown-cuda-version", "-std=c++17", "-O2", "-Wall"].map(Arg::from));
        // `__builtin_constant_p` is answered once the handler is inlined.
        args.extend(["-Xclang", "-flto=thin"].map(Arg::from));
        args.push(Arg::Place(format!("-I{}", include.display())));
        args.push("-I.".into());
        if self.options.backend == Backend::Cpu {
            args.push("-DSUPERSTEP_CPU".into());
        }
        args.extend(["-c", "-emit-llvm", "-MD", "-MF"].map(Arg::from));
        args.extend([
            Arg::Output(DEPENDENCIES),
            Arg::input(source),
            "-o".into(),
            Arg::Output(BITCODE),
        ]);
        let stage = Stage {
            name: "probe handler",
            subject: &probe.spec.name,
            tool: &self.tools.clangxx,
            args,
            folder: &folder,
            outputs: &[BITCODE],
            headers: Some(DEPENDENCIES),
        };
        Ok(stage.run(&self.runner)?.join(BITCODE))
    }

    /// The probe's own code on the host, as an object of the program that carries the probe.
    fn host_hooks(&self, probe: &Definition, file: &Path) -> Result<PathBuf, BuildError> {
        let text = fs::read_to_string(file).map_err(BuildError::io("read", file))?;
        let source = probe::host_source(&text, file);
        let source = self.runner.text_file("host.cpp", source.as_bytes())?;
        let include = self.installation.folder("probes/include")?;
        let mut args: Vec<Arg> = ["-x", "c++", "-std=c++17", "-O2", "-fPIE", "-Wall"]
            .map(Arg::from)
            .into();
        args.push(Arg::Place(format!("-I{}", include.display())));
        args.extend(["-I.", "-c", "-MD", "-MF"].map(Arg::from));
        args.extend([
            Arg::Output(DEPENDENCIES),
            Arg::input(source),
            "-o".into(),
            Arg::Output(OBJECT),
        ]);
        let stage = Stage {
            name: "probe host code",
            subject: &probe.spec.name,
            tool: &self.tools.clangxx,
            args,
            folder: &folder_of(file),
            outputs: &[OBJECT],
            headers: Some(DEPENDENCIES),
        };
        Ok(stage.run(&self.runner)?.join(OBJECT))
    }
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
