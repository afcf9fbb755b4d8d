//! Builds programs: runs all stages in order, translation units and probes in parallel.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use superstep_trace::{Backend, Probe, Protocol};

use crate::compile::link::libraries::asks_for_residency;
use crate::compile::object::embedded::EmbeddedDeviceCode;
use crate::compile::object::record::DeviceCodeRecord;
use crate::compile::reference::Reference;
use crate::compile::steps::prune::{PruneLimits, Pruned};
use crate::compile::steps::stage::Runner;
use crate::compile::unit::{Inserted, Module, units};
use crate::compile::{BuildEvent, Program, Result, StepCache, Toolset};
use crate::installation::Installation;

#[derive(Debug, Clone)]
pub struct BuildOptions {
    pub backend: Backend,
    pub gpu_archs: Vec<u32>,
    /// Whether to refuse programs with an access whose address space is not proven.
    pub strict: bool,
    /// Whether to accept inline PTX whose accesses cannot be determined from its text; they are not traced.
    pub allow_opaque_asm: bool,
    /// Whether to write a file with nvcc's commands for the program, as the reference for the native build (CUDA backend).
    pub reference: bool,
    pub protocol: Protocol,
    pub first_module: usize,
}

pub const DEFAULT_ARCH: u32 = 90;

impl BuildOptions {
    pub fn new(backend: Backend) -> Self {
        Self {
            backend,
            gpu_archs: vec![DEFAULT_ARCH],
            strict: false,
            allow_opaque_asm: false,
            reference: false,
            protocol: Protocol::default(),
            first_module: 0,
        }
    }

    pub(crate) fn lowest_arch(&self) -> u32 {
        self.gpu_archs.iter().copied().min().unwrap_or(DEFAULT_ARCH)
    }

    /// Returns the code generation flag for this machine's processor: one of three levels, so that machines can share
    /// caches. Results do not depend on it. The highest level has masked loads and stores; without them, loops over threads
    /// that contain conditions are slow.
    pub(crate) fn cpu_flag(&self) -> &'static str {
        let has_masks = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        let is_wide = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        match (has_masks, is_wide) {
            (true, true) => "-march=x86-64-v4",
            (false, true) => "-march=x86-64-v3",
            _ => "-march=x86-64-v2",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executables {
    pub native: PathBuf,
    pub traced: PathBuf,
    /// Executable that records accesses individually where `traced` aggregates them, if requested.
    pub recording: Option<PathBuf>,
    pub counted: PathBuf,
    pub reference: Reference,
    pub sources: Option<PathBuf>,
}

pub(crate) struct CompiledModules<'a> {
    pub(crate) modules: Vec<Module>,
    /// Empty if the program was built by its own build system.
    pub(crate) embedded: Vec<EmbeddedDeviceCode<'a>>,
}

pub struct Builder {
    pub(crate) tools: Toolset,
    pub(crate) installation: Installation,
    pub(crate) options: BuildOptions,
    pub(crate) runner: Runner,
}

impl Builder {
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

    #[must_use]
    pub fn dry(mut self) -> Self {
        self.runner.dry_run = Some(Mutex::default());
        self
    }

    /// Returns the commands that a dry build would have run, in order and without duplicates.
    pub fn commands(&self) -> Vec<String> {
        let commands = self.runner.dry_run.as_ref();
        commands
            .map(|list| list.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }

    pub fn prune(&self, limits: PruneLimits) -> Result<Pruned> {
        self.runner.cache.prune(limits)
    }

    pub fn options(&self) -> &BuildOptions {
        &self.options
    }

    pub fn build(&self, program: &Program) -> Result<Executables> {
        let parts = self.parts(program)?;
        let nothing = self.nothing()?;
        let list = |probe: Probe, as_resident: bool| {
            let handler = self.handler(probe)?;
            let inserted = Inserted {
                probe,
                handler,
                as_resident,
                ..nothing.clone()
            };
            self.loaded_list(&parts.modules, &inserted, None)
        };
        let (executable, (native, (traced, counted))) =
            self.with_executable(program, &parts, |as_resident| {
                let probed = || {
                    rayon::join(
                        || list(Probe::Trace, as_resident),
                        || list(Probe::Count, as_resident),
                    )
                };
                rayon::join(|| list(Probe::None, as_resident), probed)
            })?;
        let search = self.library_search(&executable)?;
        let reference = if self.options.reference && self.options.backend == Backend::Cuda {
            self.reference(program)?
        } else {
            Reference::NotBuilt
        };
        Ok(Executables {
            native: self.start(&executable, &search, &native?)?,
            traced: self.start(&executable, &search, &traced?)?,
            recording: None,
            counted: self.start(&executable, &search, &counted?)?,
            reference,
            sources: Some(program.folder.to_owned()),
        })
    }

    pub(crate) fn variant(
        &self,
        program: &Program,
        parts: &CompiledModules<'_>,
        inserted: &Inserted,
        host: Option<PathBuf>,
    ) -> Result<PathBuf> {
        let (executable, list) = self.with_executable(program, parts, |as_resident| {
            let inserted = Inserted {
                as_resident,
                ..inserted.clone()
            };
            self.loaded_list(&parts.modules, &inserted, host.as_deref())
        })?;
        let search = self.library_search(&executable)?;
        self.start(&executable, &search, &list?)
    }

    pub(crate) fn nothing(&self) -> Result<Inserted> {
        Ok(Inserted {
            probe: Probe::None,
            spec: None,
            handler: None,
            support: self.support()?,
            as_resident: false,
        })
    }

    pub(crate) fn parts<'a>(&self, program: &'a Program) -> Result<CompiledModules<'a>> {
        if program.is_built() {
            return Ok(CompiledModules {
                modules: self.built_modules(program)?,
                embedded: Vec::new(),
            });
        }
        let units = units(program)?.into_par_iter();
        let embedded: Vec<EmbeddedDeviceCode<'_>> = units
            .map(|unit| self.device_code(unit, String::new()))
            .collect::<Result<_, _>>()?;
        let first = self.options.first_module;
        let ir = embedded
            .iter()
            .map(|embedded| embedded.ir.optimised.clone());
        let records = embedded.iter().map(|embedded| &embedded.record);
        let modules = if embedded.iter().any(|embedded| embedded.unit.linked) {
            let linked = DeviceCodeRecord::linked(String::new(), records);
            vec![Module::new(program, first, &linked, ir.collect())]
        } else {
            let modules = (first..).zip(records).zip(ir);
            modules
                .map(|((index, record), ir)| Module::new(program, index, record, vec![ir]))
                .collect()
        };
        Ok(CompiledModules { modules, embedded })
    }

    /// Builds the executable and calls `make`, whose argument is true if as many CTAs must be resident with a probe as
    /// without.
    pub(crate) fn with_executable<T: Send>(
        &self,
        program: &Program,
        parts: &CompiledModules<'_>,
        make: impl FnOnce(bool) -> T + Send,
    ) -> Result<(PathBuf, T)> {
        if self.options.backend == Backend::Cpu || self.runner.dry_run.is_some() {
            let executable = || self.executable(program, parts);
            let (executable, made) = rayon::join(executable, || make(false));
            return Ok((executable?, made));
        }
        let executable = self.executable(program, parts)?;
        // The first file may start or load the others.
        let built = (program.units.iter()).filter(|_| program.is_built());
        let mut all = built.map(|unit| program.folder.join(&unit.file));
        let asks = all.try_fold(asks_for_residency(&executable)?, |asks, file| {
            Ok(asks || asks_for_residency(&file)?)
        })?;
        Ok((executable, make(asks)))
    }

    fn executable(&self, program: &Program, parts: &CompiledModules<'_>) -> Result<PathBuf> {
        match program.units.first() {
            Some(unit) if program.is_built() => Ok(program.folder.join(&unit.file)),
            _ => self.link(program, || self.objects(program, &parts.embedded)),
        }
    }
}
