//! Compiles CUDA sources into executables and the modules that they load, in stages that are each cached by content.
//! One device IR, compiled for the lowest requested architecture, serves both backends and all probes, so a site has
//! the same number everywhere.

mod builder;
mod device;
mod error;
pub(crate) mod link;
mod object;
mod probed;
mod reference;
pub(crate) mod source;
pub(crate) mod steps;
mod unit;

use std::path::PathBuf;

pub use builder::{BuildOptions, Builder, DEFAULT_ARCH, Executables};
pub(crate) use error::{BuildError, Result};
pub use link::driver::DRIVERS;
pub use link::libraries::{Library, Supplier, libraries};
pub use link::loaded::{identity, started_by};
pub use object::embedded::HostObject;
pub use probed::ProbedExecutables;
pub use reference::{Recipe, Reference, find_nvcc};
pub use steps::cache::StepCache;
pub use steps::hash;
pub use steps::prune::PruneLimits;
pub use steps::stage::quote;

use crate::manifest::{Benchmark, Constant, Flags, TranslationUnit};

#[derive(Debug, Clone, Default)]
pub struct Program {
    pub name: String,
    /// Folder in which the compilers run; every path below is relative to it.
    pub folder: PathBuf,
    pub units: Vec<TranslationUnit>,
    pub include: Vec<PathBuf>,
    pub flags: Flags,
    pub constants: Vec<Constant>,
}

impl Program {
    /// Returns the program for a benchmark in the source folder `folder`.
    pub fn from_benchmark(benchmark: &Benchmark, folder: &std::path::Path) -> Self {
        Self {
            name: benchmark.name.clone(),
            folder: folder.to_owned(),
            units: benchmark.translation_units.clone(),
            include: benchmark.include.clone(),
            flags: benchmark.flags.clone(),
            constants: benchmark.constants.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct BuildEvent<'a> {
    pub stage: &'static str,
    pub subject: &'a str,
    pub cached: bool,
}
