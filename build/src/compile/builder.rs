//! Builds programs: all stages in their order, translation units and probes in parallel.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use superstep_trace::{Backend, Probe, Protocol};

use super::cache::StepCache;
use super::error::BuildError;
use super::link::RuntimePath;
use super::plain::Plain;
use super::prune::{PruneLimits, Pruned};
use super::stage::Runner;
use super::toolset::Toolset;
use super::unit::{Inserted, Module, Unit, unit_name};
use super::{BuildEvent, Program, linked};
use crate::installation::Installation;
use crate::manifest::Language;

/// Where in the compilation the probes go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Position {
    /// Right before code generation: what is counted is what the device executes.
    #[default]
    Late,
    /// Where Rieber 2017 put them.
    Early,
}

impl Position {
    pub(super) fn word(self) -> &'static str {
        match self {
            Position::Late => "late",
            Position::Early => "early",
        }
    }
}

/// What is built, apart from the program.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    pub backend: Backend,
    /// GPU architectures (90 for sm_90), not empty; the device IR is compiled for the lowest one.
    pub gpu_archs: Vec<u32>,
    /// Refuse a program with an access whose address space is not proven.
    pub strict: bool,
    /// Let inline PTX pass whose accesses cannot be read from its text; what it accesses is not traced.
    pub allow_opaque_asm: bool,
    /// Build the program with stock Clang too, as the reference for the native build (CUDA backend).
    pub plain: bool,
    pub position: Position,
    pub protocol: Protocol,
    /// Index of the first module.
    pub first_module: usize,
    /// Where executables look for the runtime libraries.
    pub runtime_path: RuntimePath,
}

/// The architecture that device code is compiled for when none is asked for.
pub const DEFAULT_ARCH: u32 = 90;

impl BuildOptions {
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            gpu_archs: vec![DEFAULT_ARCH],
            strict: false,
            allow_opaque_asm: false,
            plain: false,
            position: Position::default(),
            protocol: Protocol::default(),
            first_module: 0,
            runtime_path: RuntimePath::Here,
        }
    }

    pub(crate) fn lowest_arch(&self) -> u32 {
        self.gpu_archs.iter().copied().min().unwrap_or(DEFAULT_ARCH)
    }

    /// Code generation flags for this machine's processor: one of three levels, so that caches are shared. Programs compute the same
    /// on all of them. The highest has masked loads and stores, without which loops over threads with conditions are slow.
    pub(super) fn cpu_flags(&self) -> Option<&'static str> {
        #[cfg(target_arch = "x86_64")]
        {
            let has_masks = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            let is_wide = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            Some(match (has_masks, is_wide) {
                (true, true) => "-march=x86-64-v4",
                (false, true) => "-march=x86-64-v3",
                _ => "-march=x86-64-v2",
            })
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }
}

/// The executables of a program. All three do the same work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executables {
    pub native: PathBuf,
    pub traced: PathBuf,
    /// Counts the accesses of each site.
    pub counted: PathBuf,
    pub plain: Plain,
    /// Folder of the sources, where they are on this machine.
    pub sources: Option<PathBuf>,
}

/// What a program's executables share, whatever their probe.
pub(super) struct Parts<'a> {
    pub(super) modules: Vec<Module<'a>>,
    pub(super) device_code: Vec<Vec<PathBuf>>,
    /// Objects of units that are not CUDA.
    pub(super) helpers: Vec<PathBuf>,
    pub(super) support: Option<PathBuf>,
    /// How code is compiled that is linked with the modules.
    pub(super) place_flags: &'static [&'static str],
}

pub struct Builder {
    pub(super) tools: Toolset,
    pub(super) installation: Installation,
    pub(super) options: BuildOptions,
    pub(super) runner: Runner,
}

impl Builder {
    /// A builder that keeps its steps in `cache` and tells `observer` about each.
    pub fn new(
        tools: Toolset,
        installation: Installation,
        options: BuildOptions,
        cache: PathBuf,
        observer: impl Fn(BuildEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        let runner = Runner {
            cache: StepCache::new(cache),
            dry_run: None,
            observer: Box::new(observer),
        };
        Self {
            tools,
            installation,
            options,
            runner,
        }
    }

    /// The same builder, listing its commands instead of running them.
    #[must_use]
    pub fn dry(mut self) -> Self {
        self.runner.dry_run = Some(Mutex::default());
        self
    }

    /// The commands that a dry build would have run, in order, each once.
    pub fn commands(&self) -> Vec<String> {
        let commands = self.runner.dry_run.as_ref();
        commands
            .map(|list| list.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }

    /// Makes the cache smaller when it is larger than `limits` allow.
    pub fn prune(&self, limits: PruneLimits) -> Result<Pruned, BuildError> {
        self.runner.cache.prune(limits)
    }

    pub fn options(&self) -> &BuildOptions {
        &self.options
    }

    pub fn tools(&self) -> &Toolset {
        &self.tools
    }

    pub fn build(&self, program: &Program) -> Result<Executables, BuildError> {
        let parts = self.parts(program)?;
        let link = |probe: Probe| {
            let inserted = self.inserted(probe, &parts)?;
            self.executable(program, &parts, &inserted, None)
        };
        let (native, (traced, counted)) = rayon::join(
            || link(Probe::None),
            || rayon::join(|| link(Probe::Trace), || link(Probe::Count)),
        );
        let plain = match self.options.plain && self.options.backend == Backend::Cuda {
            true if program.is_built() => {
                Plain::Refused("the program's own build system built it".to_owned())
            }
            true => self.plain_build(program)?,
            false => Plain::NotBuilt,
        };
        Ok(Executables {
            native: native?,
            traced: traced?,
            counted: counted?,
            plain,
            sources: Some(program.folder.to_owned()),
        })
    }

    /// What a probe of ours inserts.
    pub(super) fn inserted(&self, probe: Probe, parts: &Parts<'_>) -> Result<Inserted, BuildError> {
        Ok(Inserted {
            probe,
            spec: None,
            handler: self.handler(probe, parts.place_flags)?,
            support: parts.support.clone(),
        })
    }

    /// One executable; `host` is a probe's host code.
    pub(super) fn executable(
        &self,
        program: &Program,
        parts: &Parts<'_>,
        inserted: &Inserted,
        host: Option<PathBuf>,
    ) -> Result<PathBuf, BuildError> {
        let objects = self.all_objects(parts, inserted)?;
        if program.is_built() {
            return self.loaded_start(program, &objects, host.as_deref());
        }
        let objects = (objects.into_iter())
            .chain(parts.helpers.iter().cloned())
            .chain(host);
        self.link_with(program, objects, &self.runtime_libraries()?)
    }

    /// What all modules bring to the link.
    pub(super) fn all_objects(
        &self,
        parts: &Parts<'_>,
        inserted: &Inserted,
    ) -> Result<Vec<PathBuf>, BuildError> {
        let objects: Vec<Vec<PathBuf>> = (parts.modules.par_iter().zip(&parts.device_code))
            .map(|(module, ir)| {
                let code = self.instrument(module, ir, inserted)?;
                self.objects(module, ir, &code)
            })
            .collect::<Result<_, _>>()?;
        Ok(objects.concat())
    }

    /// Everything that comes before the probes.
    pub(super) fn parts<'a>(&self, program: &'a Program) -> Result<Parts<'a>, BuildError> {
        if program.is_built() {
            return self.loaded_parts(program);
        }
        let modules = modules(program)?;
        let device_code = modules.par_iter().map(|module| self.device_ir(module));
        let helpers = (program.units.par_iter())
            .filter(|unit| unit.language != Language::Cuda)
            .map(|unit| self.helper_object(program, unit));
        Ok(Parts {
            device_code: device_code.collect::<Result<_, _>>()?,
            helpers: helpers.collect::<Result<_, _>>()?,
            support: self.support(program.place_flags())?,
            place_flags: program.place_flags(),
            modules,
        })
    }
}

/// The pieces of device code of a program, numbered in their order.
pub(super) fn modules(program: &Program) -> Result<Vec<Module<'_>>, BuildError> {
    let linked = linked::asked(&program.flags);
    let units: Vec<_> = (program.units.iter())
        .filter(|unit| unit.language == Language::Cuda)
        .enumerate()
        .map(|(index, unit)| Unit {
            program,
            unit,
            index,
            name: unit_name(program, unit),
            linked,
        })
        .collect();
    if units.is_empty() {
        return Err(BuildError::Unsupported {
            subject: program.name.clone(),
            reason: "it has no CUDA translation unit; list at least one with `language: cuda`"
                .into(),
        });
    }
    if linked {
        return Ok(vec![Module {
            program,
            units,
            index: 0,
            name: program.name.clone(),
            loaded: None,
        }]);
    }
    Ok(units
        .into_iter()
        .map(|unit| Module {
            program,
            index: unit.index,
            name: unit.name.clone(),
            units: vec![unit],
            loaded: None,
        })
        .collect())
}
