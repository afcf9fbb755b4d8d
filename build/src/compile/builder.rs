//! Builds programs: runs all stages in order, translation units and probes in parallel.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use superstep_toolchain::Toolchain;
use superstep_trace::{Backend, Probe, Protocol};

use crate::compile::link::libraries::queries_residency;
use crate::compile::object::embedded::EmbeddedDeviceCode;
use crate::compile::object::record::DeviceCodeRecord;
use crate::compile::reference::Reference;
use crate::compile::steps::prune::{PruneLimits, Pruned};
use crate::compile::steps::stage::{Runner, Tool};
use crate::compile::unit::{Inserted, Module, units};
use crate::compile::{BuildError, BuildEvent, Program, Result, StepCache, hash};
use crate::installation::Installation;

#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    pub backend: Backend,
    pub gpu_archs: Vec<u32>,
    /// Whether to refuse programs that access memory in an unproven address space.
    pub strict: bool,
    /// Whether to accept inline PTX whose accesses cannot be determined from its text; such accesses are not traced.
    pub allow_opaque_asm: bool,
    /// Whether to write nvcc's commands for the program to a file, as a reference for the native build (CUDA backend).
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
            ..Self::default()
        }
    }

    pub(crate) fn lowest_arch(&self) -> u32 {
        self.gpu_archs.iter().copied().min().unwrap_or(DEFAULT_ARCH)
    }

    /// Returns the code generation flag for this machine's processor: one of three levels, so that machines can share
    /// caches. Results do not depend on it. The highest level has masked loads and stores; without them, loops over
    /// threads are slow if they contain conditions.
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
    pub sources: PathBuf,
}

pub(crate) struct CompiledModules<'a> {
    pub(crate) modules: Vec<Module>,
    /// Empty if the program was built by its own build system.
    pub(crate) embedded: Vec<EmbeddedDeviceCode<'a>>,
}

pub struct Builder {
    pub toolchain: Toolchain,
    pub(crate) instrumenter: Tool,
    pub(crate) installation: Installation,
    pub(crate) options: BuildOptions,
    pub(crate) runner: Runner,
}

impl Builder {
    pub fn new(
        toolchain: Toolchain,
        installation: Installation,
        options: BuildOptions,
        cache: PathBuf,
        observer: impl Fn(BuildEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let path = installation.instrumenter()?;
        let identity = hash::of_file(&path).map_err(BuildError::io("read", &path))?;
        let runner = Runner {
            cache: StepCache::new(cache),
            dry_run: None,
            observer: Box::new(observer),
        };
        Ok(Self {
            toolchain,
            instrumenter: Tool { path, identity },
            installation,
            options,
            runner,
        })
    }

    pub(crate) fn llvm_tool(&self, name: &str) -> Tool {
        let llvm = &self.toolchain.llvm;
        Tool {
            path: llvm.tool(name),
            identity: format!("llvm {}", llvm.version),
        }
    }

    pub(crate) fn clang(&self) -> Tool {
        self.llvm_tool("clang++")
    }

    pub(crate) fn cuda_tool(&self, path: &Path) -> Tool {
        Tool {
            path: path.to_owned(),
            identity: format!("cuda {}", self.toolchain.cuda.version),
        }
    }

    #[must_use]
    pub fn dry(mut self) -> Self {
        self.runner.dry_run = Some(Mutex::default());
        self
    }

    /// Returns the commands that a dry build would have run, in order and without duplicates.
    pub fn commands(&self) -> Vec<String> {
        let commands = self.runner.dry_run.iter();
        let lists =
            commands.map(|list| list.lock().unwrap_or_else(PoisonError::into_inner).clone());
        lists.flatten().collect()
    }

    pub fn prune(&self, limits: PruneLimits) -> Result<Pruned> {
        self.runner.cache.prune(limits)
    }

    pub fn build(&self, program: &Program) -> Result<Executables> {
        let parts = self.parts(program)?;
        let no_probe = self.no_probe()?;
        let probes = [Probe::None, Probe::Trace, Probe::Count];
        let insert = |&probe: &Probe| {
            Ok(Inserted {
                probe,
                handler: self.handler(probe)?,
                ..no_probe.clone()
            })
        };
        let [native, traced, counted] = self.variants(program, &parts, &probes, insert)?;
        let reference = if self.options.reference && self.options.backend == Backend::Cuda {
            self.reference(program)?
        } else {
            Reference::NotBuilt
        };
        Ok(Executables {
            native,
            traced,
            recording: None,
            counted,
            reference,
            sources: program.folder.to_owned(),
        })
    }

    /// Builds the executable and the modules that it loads with each of the `probes`; returns the start scripts.
    pub(crate) fn variants<T: Sync, const N: usize>(
        &self,
        program: &Program,
        parts: &CompiledModules<'_>,
        probes: &[T; N],
        insert: impl Fn(&T) -> Result<Inserted> + Sync,
    ) -> Result<[PathBuf; N]> {
        let lists = |as_resident| -> Result<Vec<PathBuf>> {
            let list = |probe| {
                let mut inserted = insert(probe)?;
                inserted.as_resident = as_resident;
                self.loaded_list(&parts.modules, &inserted)
            };
            probes.par_iter().map(list).collect()
        };
        let (executable, lists) =
            if self.options.backend == Backend::Cpu || self.runner.dry_run.is_some() {
                rayon::join(|| self.executable(program, parts), || lists(false))
            } else {
                let executable = self.executable(program, parts)?;
                // The first file of a built program can start or load the others.
                let mut files = vec![executable.clone()];
                if program.is_built() {
                    let others = program.units.iter().skip(1);
                    files.extend(others.map(|unit| program.folder.join(&unit.file)));
                }
                (Ok(executable), lists(queries_residency(&files)?))
            };
        let (executable, lists) = (executable?, lists?);
        let search = self.library_search(&executable)?;
        let start = |list: &PathBuf| self.start(&executable, &search, list);
        let started: Vec<PathBuf> = lists.iter().map(start).collect::<Result<_>>()?;
        Ok(started.try_into().expect("one for each probe"))
    }

    pub(crate) fn no_probe(&self) -> Result<Inserted> {
        Ok(Inserted {
            support: self.support()?,
            ..Inserted::default()
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
        let embedded = units.map(|unit| self.device_code(unit, String::new()));
        let embedded: Vec<EmbeddedDeviceCode<'_>> = embedded.collect::<Result<_>>()?;
        let first = self.options.first_module;
        let ir = embedded.iter().map(|embedded| embedded.ir.clone());
        let records = embedded.iter().map(|embedded| &embedded.record);
        let modules = if embedded.iter().any(|embedded| embedded.unit.linked) {
            let linked = DeviceCodeRecord::linked(String::new(), records);
            vec![Module::new(program, first, &linked, ir.collect())]
        } else {
            let modules = (first..).zip(records.zip(ir));
            let module = |(index, (record, ir))| Module::new(program, index, record, vec![ir]);
            modules.map(module).collect()
        };
        Ok(CompiledModules { modules, embedded })
    }

    fn executable(&self, program: &Program, parts: &CompiledModules<'_>) -> Result<PathBuf> {
        match program.units.first() {
            Some(unit) if program.is_built() => Ok(program.folder.join(&unit.file)),
            _ => self.link(program, || self.objects(program, &parts.embedded)),
        }
    }
}
