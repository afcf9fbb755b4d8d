//! State shared by commands that build or run programs: the installation, the tools, the reporter, and where programs
//! come from.
//!
//! A [`Session`] either builds programs or takes them from a bundle; callers need not know which.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rayon::prelude::*;
use serde_json::json;
use superstep_build::bail;
use superstep_build::compile::{
    BuildEvent, BuildOptions, Builder, Executables, ProbedExecutables, Program, PruneLimits,
};
use superstep_build::failure::Failure;
use superstep_build::fetch::{self, FetchOptions, SourceFile, SourceTree};
use superstep_build::inputs::find_input;
use superstep_build::installation::Installation;
use superstep_build::interrupt;
use superstep_build::manifest::{Benchmark, Suite, load_suite};
use superstep_build::nearest::did_you_mean;
use superstep_build::probe::Probe;
use superstep_toolchain::Toolchain;
use superstep_trace::{Backend, Protocol};

use crate::bundle::Bundle;
use crate::results::{MessageFormat, Reporter};
use crate::suite::{Case, Execution, ProgramChoice, Selection};

pub type SourceHashes = BTreeMap<String, String>;

/// The chosen programs of a suite, with their sources.
pub struct Fetched<'a> {
    pub suite: &'a Suite,
    pub size: String,
    pub benchmarks: Vec<&'a Benchmark>,
    /// Sources of the benchmarks; empty for a bundle.
    trees: Vec<Result<SourceTree, Failure>>,
}

/// A program to run: its executables, or its build error.
pub struct Prepared<'a, E = Executables> {
    pub benchmark: &'a Benchmark,
    pub executables: Result<E, Failure>,
    pub sources: SourceHashes,
}

impl<'a, E> Prepared<'a, E> {
    pub fn map<F>(self, convert: impl FnOnce(E) -> F) -> Prepared<'a, F> {
        Prepared {
            benchmark: self.benchmark,
            executables: self.executables.map(convert),
            sources: self.sources,
        }
    }
}

pub type Probed<'a> = Prepared<'a, ProbedExecutables>;

#[derive(Debug, Clone)]
pub struct BuildIdentity {
    pub llvm: String,
    pub gpu_arch: u32,
}

pub struct Session {
    pub installation: Installation,
    pub reporter: Reporter,
    pub fetch: FetchOptions,
    pub build: BuildOptions,
    /// Whether to also build a recording variant, for comparison with the sums of an in-situ run.
    pub verify_in_situ: bool,
    pub bundle: Option<Bundle>,
    /// Located on first use.
    builder: OnceLock<Builder>,
}

impl Session {
    pub fn new(build: BuildOptions, fetch: FetchOptions, format: MessageFormat) -> Self {
        Self {
            installation: Installation::find(),
            reporter: Reporter::new(format),
            fetch,
            build,
            verify_in_situ: false,
            bundle: None,
            builder: OnceLock::new(),
        }
    }

    /// Creates a session with the programs in `bundle`, and its inputs unless `fetch` has a mirror.
    pub fn from_bundle(bundle: Bundle, mut fetch: FetchOptions, format: MessageFormat) -> Self {
        if fetch.data_mirror.is_none() && bundle.data().is_dir() {
            fetch.data_mirror = Some(bundle.data());
        }
        let build = BuildOptions {
            gpu_archs: bundle.info.gpu_archs.clone(),
            protocol: bundle.info.protocol,
            ..BuildOptions::new(bundle.info.backend)
        };
        Self {
            bundle: Some(bundle),
            ..Self::new(build, fetch, format)
        }
    }

    /// Loads the suite with this name or folder, or the bundle's suite.
    pub fn suite(&self, name: &str) -> Result<Suite, Failure> {
        let folder = match &self.bundle {
            Some(bundle) => bundle.suite(),
            None => self.installation.suite(name),
        };
        if self.bundle.is_none() && !folder.is_dir() && !name.contains('/') {
            let known = self.installation.suites();
            bail!(
                Manifest,
                "failed to find the suite `{name}`{}; expected a folder with a suite.yaml or one of {}",
                did_you_mean(name, known.iter().map(String::as_str)),
                known.join(", ")
            );
        }
        load_suite(&folder)
    }

    /// Loads the probe with this name, from the bundle if there is one.
    pub fn probe(&self, name: &str) -> Result<Probe, Failure> {
        match &self.bundle {
            Some(bundle) => Probe::load(&bundle.probe(name).to_string_lossy(), &self.installation),
            None => Probe::load(name, &self.installation),
        }
    }

    pub fn builder(&self) -> Result<&Builder, Failure> {
        if let Some(builder) = self.builder.get() {
            return Ok(builder);
        }
        let mut progress = |step: &str| self.reporter.note(step);
        let toolchain = match Toolchain::locate_or_fetch(&mut progress) {
            Ok(toolchain) => toolchain,
            Err(error) => bail!(Tool, "{error}"),
        };
        let builder = self.new_builder(toolchain, self.build.clone())?;
        Ok(self.builder.get_or_init(|| builder))
    }

    fn new_builder(&self, toolchain: Toolchain, build: BuildOptions) -> Result<Builder, Failure> {
        let reporter = self.reporter.clone();
        let observer = move |event: BuildEvent<'_>| {
            let cached = if event.cached { " (cached)" } else { "" };
            reporter.detail(format!(
                "building: {} of {}{cached}",
                event.stage, event.subject
            ));
            let fields =
                json!({ "stage": event.stage, "subject": event.subject, "cached": event.cached });
            reporter.message("build-step", fields);
        };
        Ok(Builder::new(
            toolchain,
            self.installation.clone(),
            build,
            self.fetch.cache_dir.join("build"),
            observer,
        )?)
    }

    /// Fails if a build tool is missing, before anything is written.
    pub fn check_tools(&self) -> Result<(), Failure> {
        if self.bundle.is_none() {
            self.builder()?.runtime_libraries()?;
        }
        Ok(())
    }

    /// Prunes the cache; a failure only prints a warning.
    pub fn prune(&self) {
        if let Some(builder) = self.builder.get()
            && let Err(error) = builder.prune(PruneLimits::default())
        {
            self.reporter.line(&format!("warning: {error}"));
        }
    }

    pub fn identity(&self) -> Result<BuildIdentity, Failure> {
        let llvm = match &self.bundle {
            Some(bundle) => bundle.info.llvm.clone(),
            None => self.builder()?.toolchain.llvm.version.to_string(),
        };
        let gpu_arch = self.build.gpu_archs.iter().copied().min().unwrap_or(0);
        Ok(BuildIdentity { llvm, gpu_arch })
    }

    /// Selects programs of `suite`, and fetches their sources and inputs. Fails if none is selected or none can be
    /// fetched.
    pub fn fetch<'a>(
        &self,
        suite: &'a Suite,
        choice: &ProgramChoice,
    ) -> Result<Fetched<'a>, Failure> {
        let size = choice.size.as_ref().unwrap_or(&suite.default_size).clone();
        if let Some(bundle) = &self.bundle {
            let mut choice = choice.clone();
            if choice.selection.is_empty() {
                choice.selection = Selection::new(&bundle.info.benchmarks, &[])?;
            }
            return Ok(Fetched {
                benchmarks: choice.of(suite, self.build.backend)?.0,
                trees: Vec::new(),
                suite,
                size,
            });
        }
        let (benchmarks, unsupported) = choice.of(suite, self.build.backend)?;
        for (name, backend) in unsupported {
            let line = format!("{name}: skipped; it runs only on the {backend} backend");
            self.reporter.line(&line);
        }
        let _step = self.reporter.step("fetching", None);
        let trees = benchmarks.par_iter().map(|benchmark| {
            let tree = fetch::sources(suite, benchmark, &self.fetch)?;
            let inputs = benchmark
                .sizes
                .get(&size)
                .filter(|_| !choice.without_inputs);
            for input in inputs.into_iter().flat_map(|size| &size.inputs) {
                find_input(suite, input, &self.fetch)?;
            }
            Ok(tree)
        });
        let trees: Vec<Result<SourceTree, Failure>> = trees.collect();
        match trees.iter().find_map(|tree| tree.as_ref().err()) {
            Some(first) if trees.iter().all(Result::is_err) => Err(first.clone()),
            _ => Ok(Fetched {
                suite,
                size,
                benchmarks,
                trees,
            }),
        }
    }

    /// Builds all variants of each program, and calls `finished` after each. A failure does not stop the others.
    pub fn build<'a>(
        &self,
        fetched: &Fetched<'a>,
        finished: impl Fn(&Benchmark, &Result<Executables, Failure>) + Sync,
    ) -> Result<Vec<Prepared<'a>>, Failure> {
        self.prepare(
            fetched,
            |bundle, name| self.with_recording(bundle.executables(name)?, None),
            |builder, program| self.with_recording(builder.build(program)?, Some(program)),
            finished,
        )
    }

    /// Adds a recording program if one is needed. It is built from `program` unless the bundle has it.
    fn with_recording(
        &self,
        mut executables: Executables,
        program: Option<&Program>,
    ) -> Result<Executables, Failure> {
        if self.verify_in_situ && executables.recording.is_none() {
            executables.recording = match (self.build.backend, program) {
                // On the CPU, the traced program can also record.
                (Backend::Cpu, _) => Some(executables.traced.clone()),
                (Backend::Cuda, None) => None,
                (Backend::Cuda, Some(program)) => {
                    let build = BuildOptions {
                        protocol: Protocol::default(),
                        reference: false,
                        ..self.build.clone()
                    };
                    let toolchain = self.builder()?.toolchain.clone();
                    let builder = self.new_builder(toolchain, build)?;
                    Some(builder.build(program)?.traced)
                }
            };
        }
        Ok(executables)
    }

    pub fn build_probed<'a>(
        &self,
        fetched: &Fetched<'a>,
        probe: &Probe,
    ) -> Result<Vec<Probed<'a>>, Failure> {
        self.prepare(
            fetched,
            |bundle, name| bundle.probed(name, &probe.spec.name),
            |builder, program| Ok(builder.build_probed(program, probe)?),
            |_, _| (),
        )
    }

    fn prepare<'a, E: Send>(
        &self,
        fetched: &Fetched<'a>,
        unpack: impl Fn(&Bundle, &str) -> Result<E, Failure>,
        build: impl Fn(&Builder, &Program) -> Result<E, Failure> + Sync,
        finished: impl Fn(&Benchmark, &Result<E, Failure>) + Sync,
    ) -> Result<Vec<Prepared<'a, E>>, Failure> {
        if let Some(bundle) = &self.bundle {
            let unpacked = |&benchmark: &&'a Benchmark| {
                let sources = bundle.info.sources.get(&benchmark.name);
                Prepared {
                    benchmark,
                    executables: unpack(bundle, &benchmark.name),
                    sources: sources.cloned().unwrap_or_default(),
                }
            };
            return Ok(fetched.benchmarks.iter().map(unpacked).collect());
        }
        self.check_tools()?;
        let builder = self.builder()?;
        let built = |(&benchmark, tree): (&&'a Benchmark, &Result<SourceTree, Failure>)| {
            let executables = tree.as_ref().map_err(Clone::clone).and_then(|tree| {
                if interrupt::requested() {
                    bail!(
                        Interrupted,
                        "the run was interrupted before this program was built"
                    );
                }
                let what = format!("{}: build", benchmark.name);
                let _step = self.reporter.step(what, None);
                let program = Program::from_benchmark(benchmark, &tree.directory);
                build(builder, &program)
            });
            finished(benchmark, &executables);
            Prepared {
                benchmark,
                executables,
                sources: tree.as_ref().map(hashes).unwrap_or_default(),
            }
        };
        let programs = fetched.benchmarks.par_iter().zip(&fetched.trees);
        Ok(programs.map(built).collect())
    }

    pub fn commands(&self, fetched: &Fetched<'_>) -> Result<Vec<String>, Failure> {
        self.check_tools()?;
        let toolchain = self.builder()?.toolchain.clone();
        let builder = (self.new_builder(toolchain, self.build.clone())?).dry();
        for (benchmark, tree) in fetched.sources() {
            builder.build(&Program::from_benchmark(benchmark, &tree?.directory))?;
        }
        self.reporter.finish();
        Ok(builder.commands())
    }
}

impl<'a> Fetched<'a> {
    pub fn case<'c, E>(
        &'c self,
        program: &'c Prepared<'_, E>,
        execution: &'c Execution,
    ) -> Result<Case<'c>, Failure> {
        let benchmark = program.benchmark;
        let Some(size) = benchmark.sizes.get(&self.size) else {
            bail!(
                Usage,
                "failed to run {}: it has no size {}",
                benchmark.name,
                self.size
            );
        };
        Ok(Case {
            suite: self.suite,
            benchmark,
            size,
            execution,
            sources: &program.sources,
        })
    }

    pub fn sources(&self) -> impl Iterator<Item = (&'a Benchmark, Result<&SourceTree, Failure>)> {
        let trees = self.trees.iter();
        let trees = trees.map(|tree| tree.as_ref().map_err(Clone::clone));
        self.benchmarks.iter().copied().zip(trees)
    }
}

fn hashes(tree: &SourceTree) -> SourceHashes {
    let files = tree.files.iter();
    let hash = |file: &SourceFile| (file.path.display().to_string(), file.sha256.to_string());
    files.map(hash).collect()
}

#[cfg(test)]
mod tests;
