//! From CUDA sources to executables and what they load, in stages that are each cached by content.
//!
//! ```text
//! X.cu ─ clang ─ device IR ─┬─ host object ─ link ─ executable ─┬─ start
//!                           │                                   │
//!                           └─ instrument ─┬─ llc ─ PTX ─ ptxas ─ cubins ─ fatbinary   CUDA
//!                                          └─ clang ─ shared object                    CPU
//! ```
//!
//! One device IR serves both backends and all probes: it is compiled once, for the lowest architecture asked for, so that a
//! site has the same number everywhere. CompiledModules: [`hash`] and [`cache`] keep steps, `stage` runs one command, `unit` knows the
//! stages of a translation unit and of a piece of device code, `gpu` those that only a GPU needs, `registers` what keeps
//! probed kernels launchable, `registration` when device code is registered, `compatibility` what old code needs, `sources` how it is recognised, `constants` the problem sizes
//! that sources fix, `linked` when device code is compiled separately, `support` Superstep's own device code. `embedded` makes
//! objects that carry device code, `record` is the form in which they do, `link` makes an executable of them, `loaded` what that
//! loads; [`Builder`] has the order. `explain` asks stage 2 for its reasons and measures what it costs, [`libraries`] finds the
//! shared libraries of an executable, `driver` makes what stands in for those of a GPU's driver.

pub(crate) mod arithmetic;
mod builder;
mod cache;
mod compatibility;
mod constants;
pub(crate) mod default_stream;
mod depfile;
mod driver;
mod embedded;
mod error;
mod explain;
mod gpu;
pub mod hash;
mod libraries;
mod link;
mod linked;
mod loaded;
pub(crate) mod macros;
mod probed;
mod prune;
mod ptxas;
mod record;
mod reference;
mod registers;
mod registration;
mod sources;
mod stage;
mod support;
mod toolset;
mod unit;

use std::path::PathBuf;

pub use builder::{BuildOptions, Builder, DEFAULT_ARCH, Executables, Position};
pub use cache::StepCache;
pub use driver::DRIVERS;
pub use embedded::HostObject;
pub(crate) use error::BuildError;
pub use explain::{Explanation, KernelRegisters, ProgramCost, Summary};
pub use libraries::{Library, Supplier, libraries};
pub use loaded::{identity, started_by};
pub use probed::ProbedExecutables;
pub use prune::PruneLimits;
pub use reference::{Recipe, Reference, find_nvcc};
pub use stage::quote;
pub use toolset::Toolset;

use crate::manifest::{Benchmark, Constant, Flags, TranslationUnit};

#[derive(Debug, Clone)]
pub struct Program {
    pub name: String,
    /// Folder in which the compilers run; every path below is relative to it.
    pub folder: PathBuf,
    /// What is compiled and linked together, in order; CUDA units are numbered in this order.
    pub units: Vec<TranslationUnit>,
    pub include: Vec<PathBuf>,
    pub flags: Flags,
    /// Constants of the source that get another value.
    pub constants: Vec<Constant>,
}

impl Program {
    /// The program of a benchmark whose own folder in the source tree is `folder`.
    pub fn of_benchmark(benchmark: &Benchmark, folder: &std::path::Path) -> Self {
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

/// A step of a build has ended.
#[derive(Debug, Clone, Copy)]
pub struct BuildEvent<'a> {
    /// The stage: "device IR".
    pub stage: &'static str,
    /// What it worked on: benchmark and file.
    pub subject: &'a str,
    pub cached: bool,
    /// How long the command ran; zero when it did not have to.
    pub elapsed: std::time::Duration,
}
