//! Compiles Superstep's own device code: probe handlers, and support functions that device code calls.
//!
//! Handlers are the files `probe_<probe>.{c,cu}` in a runtime's `device` folder, or `probe_trace_<protocol>.cu` for a
//! protocol of the CUDA backend. The `support_…` files are linked into one bitcode file.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use superstep_trace::{Backend, Probe};

use crate::compile::steps::stage::{Args, BITCODE, Subject};
use crate::compile::{BuildError, Builder, Result};
use crate::installation::names_in;

/// The optimisation pipeline that Clang runs with [`Builder::device_flags`].
pub(crate) const DEVICE_PASSES: &str = "thinlto-pre-link<O2>";

impl Builder {
    pub(crate) fn handler(&self, probe: Probe) -> Result<Option<PathBuf>> {
        // The user provides the handler of a user-defined probe: see `probed.rs`.
        if let Probe::None | Probe::Defined = probe {
            return Ok(None);
        }
        let folder = self.device_folder()?;
        let extension = match self.options.backend {
            Backend::Cpu => "c",
            Backend::Cuda => "cu",
        };
        let protocol = self.options.protocol;
        let with_protocol = format!("probe_{probe}_{protocol}.{extension}");
        let plain = format!("probe_{probe}.{extension}");
        let mut files = [&with_protocol, &plain].into_iter();
        let file = files.find(|file| folder.join(file).is_file());
        let file = file.ok_or_else(|| {
            let what = format!("the {probe} handler for protocol `{protocol}`");
            let folder = folder.display();
            let why = format!("{folder} contains neither {with_protocol} nor {plain}");
            BuildError::installation(what, why)
        })?;
        self.bitcode(&folder, file).map(Some)
    }

    pub(crate) fn support(&self) -> Result<PathBuf> {
        let folder = self.device_folder()?;
        let mut files = names_in(&folder);
        files.retain(|name| name.starts_with("support_"));
        let parts = files.par_iter().map(|file| self.bitcode(&folder, file));
        let parts: Vec<PathBuf> = parts.collect::<Result<_, _>>()?;
        let subject = Subject::of("support", &folder);
        let (tool, args) = (&self.llvm_tool("llvm-link"), parts.into_iter());
        let args = args.fold(Args::default(), Args::input);
        (self.runner).file("link support", tool, subject, args, BITCODE)
    }

    fn device_folder(&self) -> Result<PathBuf> {
        self.installation.folder(match self.options.backend {
            Backend::Cpu => "runtime/cpu/device",
            Backend::Cuda => "runtime/cuda/device",
        })
    }

    fn bitcode(&self, folder: &Path, file: &str) -> Result<PathBuf> {
        let mut args = if file.ends_with(".cu") {
            self.device_flags()
        } else if file.ends_with(".c") {
            // Loops over threads are vectorised later, so inlined code must be scalar and free of calls.
            Args::of(["-x", "c", "-std=c17", "-O2", "-Wall", "-fPIC"])
                .texts([
                    "-fno-slp-vectorize",
                    "-fno-math-errno",
                    "-fvisibility=hidden",
                ])
                .text(self.options.cpu_flag())
        } else {
            Args::of(["-x", "ir", "-Wno-override-module", "-O2", "-Wall"])
        };
        args = args.texts(["-Werror", "-c", "-emit-llvm"]);
        if !file.ends_with(".ll") {
            args = args.reading_headers();
        }
        let subject = Subject { name: file, folder };
        let (tool, args) = (&self.clang(), args.input(file));
        (self.runner).file("device support", tool, subject, args, BITCODE)
    }

    /// Returns flags for device code that the instrumenter optimises further: it evaluates `__builtin_constant_p` after
    /// the handler is inlined and sites are constants.
    pub(crate) fn device_flags(&self) -> Args {
        Args::of(["-x", "cuda", "--cuda-device-only"])
            .text(self.gpu_arch_flag())
            .place("--cuda-path=", &self.toolchain.cuda.root)
            .texts(["-Wno-unknown-cuda-version", "-std=c++17", "-O2", "-Wall"])
            .texts(["-Xclang", "-flto=thin"])
    }
}
