//! Commands for projects with their own build systems.

pub mod build;
pub mod env;
pub mod libraries;
pub mod modules;
pub mod nvcc;
pub mod toolkit;

use std::path::PathBuf;

use superstep_build::compile::{BuildOptions, Builder, DEFAULT_ARCH};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::default_cache_dir;
use superstep_build::installation::Installation;
use superstep_build::nvcc::Toolkit;
use superstep_toolchain::Toolchain;
use superstep_trace::Backend;

use crate::suite::local_gpu_arch;

struct Tools {
    installation: Installation,
    toolchain: Toolchain,
    cache: PathBuf,
}

impl Tools {
    fn find() -> Result<Self, Failure> {
        Ok(Self {
            installation: Installation::find(),
            toolchain: Toolchain::locate_or_fetch(&mut |step| eprintln!("superstep: {step}"))
                .map_err(|error| Failure::new(FailureKind::Tool, error.to_string()))?,
            cache: default_cache_dir()?,
        })
    }

    fn toolkit(&self) -> Result<Toolkit, Failure> {
        let builder = self.builder(BuildOptions::new(Backend::Cpu))?;
        Ok(Toolkit::make(
            &builder,
            &self.cache,
            local_gpu_arch().map_or(DEFAULT_ARCH, |found| found.min(DEFAULT_ARCH)),
        )?)
    }

    fn builder(&self, options: BuildOptions) -> Result<Builder, Failure> {
        Ok(Builder::new(
            self.toolchain.clone(),
            self.installation.clone(),
            options,
            self.cache.join("build"),
            |_| (),
        )?)
    }
}
