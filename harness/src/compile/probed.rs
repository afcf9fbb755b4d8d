//! Builds a program with a probe that a user defined.

use std::fs;
use std::path::PathBuf;

use rayon::prelude::*;
use superstep_trace::{Backend, Probe};

use super::Program;
use super::builder::{Builder, modules};
use super::error::BuildError;
use super::stage::{Arg, Stage};
use crate::manifest::Language;
use crate::probe;

const BITCODE: &str = "out.bc";
const DEPENDENCIES: &str = "out.d";

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
    ///
    /// # Errors
    /// The first stage that failed, with its command and its output.
    pub fn build_probed(
        &self,
        program: &Program,
        probe: &probe::Probe,
    ) -> Result<ProbedExecutables, BuildError> {
        let modules = modules(program)?;
        let device_code: Vec<Vec<PathBuf>> = modules
            .par_iter()
            .map(|module| self.device_ir(module))
            .collect::<Result<_, _>>()?;
        let helpers: Vec<PathBuf> = (program.units.par_iter())
            .filter(|unit| unit.language != Language::Cuda)
            .map(|unit| self.helper_object(program, unit))
            .collect::<Result<_, _>>()?;
        let support = self.support()?;
        let spec = serde_json::to_vec(&probe.spec).unwrap_or_default();
        let spec = self.runner.text_file("probe.json", &spec)?;
        let handler = self.defined_handler(probe)?;
        let link = |defined: bool| -> Result<PathBuf, BuildError> {
            let objects: Vec<Vec<PathBuf>> = (modules.par_iter().zip(&device_code))
                .map(|(module, ir)| {
                    let code = if defined {
                        self.instrument_defined(module, ir, (&spec, &handler), support.as_deref())?
                    } else {
                        self.instrument(module, ir, Probe::None, None, support.as_deref())?
                    };
                    self.objects(module, &code)
                })
                .collect::<Result<_, _>>()?;
            let objects = objects.into_iter().flatten().chain(helpers.iter().cloned());
            self.link(program, objects.collect())
        };
        let (native, probed) = rayon::join(|| link(false), || link(true));
        Ok(ProbedExecutables {
            native: native?,
            probed: probed?,
        })
    }

    /// The handler with the code around it, as bitcode for the backend.
    fn defined_handler(&self, probe: &probe::Probe) -> Result<PathBuf, BuildError> {
        let text =
            fs::read_to_string(&probe.handler).map_err(BuildError::io("read", &probe.handler))?;
        let source = probe::source(&probe.spec, &text, &probe.handler);
        let source = self.runner.text_file("handler.cu", source.as_bytes())?;
        let include = self.installation.folder("probes/include")?;
        let folder = probe
            .handler
            .parent()
            .map(PathBuf::from)
            .unwrap_or_default();
        let folder = if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder
        };
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
}
