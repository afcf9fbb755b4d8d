//! Superstep's own device code, compiled and cached like everything else: probe handlers, and the CPU backend's support.
//!
//! Handlers are the files `probe_<probe>.{c,cu}` of a runtime's `device` folder, `probe_trace_<protocol>.cu` for a protocol of
//! the CUDA backend. Everything else there, apart from headers, is support and is linked into one bitcode file.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use superstep_trace::{Backend, Probe};

use super::builder::Builder;
use super::error::BuildError;
use super::stage::{Arg, Stage};

const BITCODE: &str = "out.bc";
const DEPENDENCIES: &str = "out.d";

impl Builder {
    /// The handler of `probe`; `None` for a build without probes.
    pub(super) fn handler(&self, probe: Probe) -> Result<Option<PathBuf>, BuildError> {
        let name = match probe {
            // The handler of a defined probe is its user's: see `probed.rs`.
            Probe::None | Probe::Defined => return Ok(None),
            Probe::Trace => "trace",
            Probe::Count => "count",
        };
        let folder = self.device_folder()?;
        let extension = if self.options.backend == Backend::Cpu {
            "c"
        } else {
            "cu"
        };
        let with_protocol = format!("probe_{name}_{}.{extension}", self.options.protocol);
        let plain = format!("probe_{name}.{extension}");
        let file = [with_protocol, plain]
            .into_iter()
            .find(|file| folder.join(file).is_file())
            .ok_or_else(|| BuildError::Installation {
                what: format!(
                    "the {name} handler for protocol `{}`",
                    self.options.protocol
                ),
                reason: format!(
                    "{} has no file probe_{name}[_<protocol>].{extension} for it",
                    folder.display()
                ),
            })?;
        self.bitcode(&folder, &file).map(Some)
    }

    /// The CPU backend's support, linked into one file; `None` on CUDA.
    pub(super) fn support(&self) -> Result<Option<PathBuf>, BuildError> {
        if self.options.backend != Backend::Cpu {
            return Ok(None);
        }
        let folder = self.device_folder()?;
        let entries = fs::read_dir(&folder).map_err(BuildError::io("read the folder", &folder))?;
        let mut files: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| {
                !name.starts_with("probe_") && (name.ends_with(".c") || name.ends_with(".ll"))
            })
            .collect();
        files.sort();
        let parts: Vec<PathBuf> = files
            .par_iter()
            .map(|file| self.bitcode(&folder, file))
            .collect::<Result<_, _>>()?;
        let mut args: Vec<Arg> = parts.into_iter().map(Arg::input).collect();
        args.extend(["-o".into(), Arg::Output(BITCODE)]);
        let stage = Stage {
            name: "link support",
            subject: "CPU support",
            tool: &self.tools.llvm_link,
            args,
            folder: &folder,
            outputs: &[BITCODE],
            headers: None,
        };
        Ok(Some(stage.run(&self.runner)?.join(BITCODE)))
    }

    fn device_folder(&self) -> Result<PathBuf, BuildError> {
        self.installation.folder(match self.options.backend {
            Backend::Cpu => "runtime/cpu/device",
            Backend::Cuda => "runtime/cuda/device",
        })
    }

    fn bitcode(&self, folder: &Path, file: &str) -> Result<PathBuf, BuildError> {
        let mut args: Vec<Arg> = Vec::new();
        let reads_headers = !file.ends_with(".ll");
        if file.ends_with(".cu") {
            args.extend(["-x", "cuda", "--cuda-device-only"].map(Arg::from));
            args.push(format!("--cuda-gpu-arch=sm_{}", self.options.lowest_arch()).into());
            args.push(Arg::Place(format!(
                "--cuda-path={}",
                self.tools.cuda_root.display()
            )));
            args.extend(["-Wno-unknown-cuda-version", "-std=c++17"].map(Arg::from));
            // Code that is optimised further elsewhere: `__builtin_constant_p` is not answered here, where no site is a constant
            // yet, but by the instrumenter, once the handler is inlined.
            args.extend(["-Xclang", "-flto=thin"].map(Arg::from));
        } else if reads_headers {
            args.extend(["-x", "c", "-std=c17", "-fPIE"].map(Arg::from));
            args.extend(self.options.cpu_flags());
        } else {
            args.extend(["-x", "ir", "-Wno-override-module"].map(Arg::from));
        }
        args.extend(["-O2", "-Wall", "-Werror", "-c", "-emit-llvm"].map(Arg::from));
        if reads_headers {
            args.extend(["-MD".into(), "-MF".into(), Arg::Output(DEPENDENCIES)]);
        }
        args.extend([Arg::input(file), "-o".into(), Arg::Output(BITCODE)]);
        let stage = Stage {
            name: "device support",
            subject: file,
            tool: &self.tools.clangxx,
            args,
            folder,
            outputs: &[BITCODE],
            headers: reads_headers.then_some(DEPENDENCIES),
        };
        Ok(stage.run(&self.runner)?.join(BITCODE))
    }
}
