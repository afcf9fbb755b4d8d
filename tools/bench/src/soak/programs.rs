//! Programs of the soak test, each with a verified trace as the reference for its cases.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use superstep_analysis::run_summary::{Check, RunSummary};
use superstep_build::compile::BuildOptions;
use superstep_build::failure::Failure;
use superstep_build::fetch::FetchOptions;
use superstep_build::manifest::Suite;
use superstep_harness::{
    AnalysisOptions, Bundle, Execution, Fetched, Kind, MessageFormat, Prepared, ProgramChoice, Run,
    RunFolder, Running, Selection, Session, SuiteOptions, SuiteRun, capture_failure,
    check_manifest, check_runtime, golden_folder,
};
use superstep_trace::{Backend, Capture, Protocol, Reproducibility};

use super::draw::{Draw, Traits};
use super::judge::{Reference, duration};
use crate::built::Built;

pub const CAPTURE: &str = "capture";

/// A suite, and a session that builds its programs or takes them from a bundle.
pub struct Source {
    session: Session,
    suite: Suite,
    names: Vec<String>,
}

/// A program with the reference trace for its cases.
pub struct Program<'a> {
    pub built: Built<'a>,
    /// Suite, program, size and backend, for messages.
    pub name: String,
    source: &'a Source,
    pub reference: Rc<Reference>,
    pub traits: Traits,
}

#[derive(Default)]
pub struct Programs<'a> {
    pub all: Vec<Program<'a>>,
    pub device: String,
    /// Reasons why programs were skipped.
    pub failures: Vec<String>,
    known: HashMap<String, (Rc<Reference>, Traits)>,
}

impl Source {
    /// Returns a source that builds a suite for the CPU backend.
    pub fn suite(name: &str, fetch: &FetchOptions) -> Result<Self, Failure> {
        let build = BuildOptions::new(Backend::Cpu);
        let session = Session::new(build, fetch.clone(), MessageFormat::Human);
        let suite = session.suite(name)?;
        let names = suite.benchmarks.iter().map(|it| it.name.clone());
        Ok(Self {
            names: names.collect(),
            suite,
            session,
        })
    }

    pub fn bundle(folder: &Path, fetch: &FetchOptions) -> Result<Self, Failure> {
        let bundle = Bundle::open(folder)?;
        let names = bundle.info.benchmarks.clone();
        let session = Session::from_bundle(bundle, fetch.clone(), MessageFormat::Human);
        Ok(Self {
            suite: session.suite("")?,
            session,
            names,
        })
    }

    fn protocols(&self) -> Vec<Protocol> {
        match self.session.build.backend {
            Backend::Cpu => Protocol::ALL.to_vec(),
            Backend::Cuda => vec![self.session.build.protocol],
        }
    }

    /// Returns the protocol with which the programs record traces, if any.
    fn recording(&self) -> Option<Protocol> {
        let mut protocols = self.protocols().into_iter();
        protocols.find(|protocol| *protocol != Protocol::InSitu)
    }

    /// Returns the selected programs that have this size; `None` if there are none.
    fn choice(&self, only: &Selection, size: &str) -> Result<Option<ProgramChoice>, Failure> {
        let backend = self.session.build.backend;
        let names: Vec<String> = (self.suite.benchmarks.iter())
            .filter(|it| it.only_on.is_none_or(|only| only == backend))
            .filter(|it| it.sizes.contains_key(size) && self.names.contains(&it.name))
            .filter(|it| only.contains(&it.name, &self.suite.groups))
            .map(|it| it.name.clone())
            .collect();
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some(ProgramChoice {
            size: Some(size.to_owned()),
            selection: Selection::new(&names, &[])?,
            without_inputs: false,
        }))
    }

    /// Runs and verifies programs as `superstep suite` does.
    fn verified(
        &self,
        fetched: &Fetched<'_>,
        prepared: &[Prepared<'_>],
        protocol: Protocol,
        out: &Path,
    ) -> Result<(RunSummary, RunFolder), Failure> {
        let mut execution = self.execution();
        execution.config.protocol = Some(protocol);
        let options = SuiteOptions {
            execution,
            analysis: AnalysisOptions::default(),
            running: Running {
                resume: None,
                repeat: 1,
                retry: 0,
                require_golden: false,
                junit: None,
            },
            out: out.to_owned(),
            golden: Some(golden_folder(&self.suite)),
            bless: false,
        };
        SuiteRun::begin(&self.session, fetched, &options)?.run(prepared)
    }

    pub fn execution(&self) -> Execution {
        Execution::new(self.session.build.backend, self.session.fetch.clone())
    }

    /// Reads the reference and the traits of a program from the verified trace in `folder`.
    fn read_reference(
        &self,
        built: &Built<'_>,
        reproducibility: Reproducibility,
        folder: &Path,
        out: &Path,
    ) -> Result<(Rc<Reference>, Traits), Failure> {
        let backend = self.session.build.backend;
        let open = |folder: &Path| Capture::open(folder).map_err(capture_failure);
        let mut reference = Reference::new(open(folder)?, reproducibility)?;
        if backend == Backend::Cuda {
            let mut execution = self.execution();
            execution.config.selection.launch_skip = u64::MAX;
            let scratch = out.join("indistinguishable");
            let capture = scratch.join(CAPTURE);
            built.run(Kind::Traced, &execution, &scratch, Some(&capture))?;
            reference.set_indistinguishable(&open(&capture)?);
            std::fs::remove_dir_all(&scratch).map_err(Failure::io("remove", &scratch))?;
        }
        let capture = &reference.capture;
        let kernels: BTreeSet<&str> = capture
            .launches()
            .map(|record| record.launch.kernel.as_str())
            .collect();
        let ctas = capture.launches().map(|record| record.launch.ctas()).max();
        let traits = Traits {
            backend,
            protocols: Vec::new(),
            kernels: kernels.into_iter().map(str::to_owned).collect(),
            launches: capture.launches().count() as u64,
            ctas: ctas.unwrap_or(0).try_into().unwrap_or(u32::MAX - 1),
            duration: Cell::new(duration(capture)),
        };
        Ok((Rc::new(reference), traits))
    }
}

impl Program<'_> {
    /// Runs the traced program in `folder`, and writes its capture there.
    pub fn trace(
        &self,
        draw: &Draw,
        timeout: Duration,
        folder: &Path,
    ) -> Result<(Run, Option<Failure>), Failure> {
        let mut execution = self.source.execution();
        execution.timeout = Some(timeout);
        execution.kill_after = draw.kill;
        execution.config.clone_from(&draw.config);
        let capture = folder.join(CAPTURE);
        (self.built).run(Kind::Traced, &execution, folder, Some(&capture))
    }

    /// Checks the program's output against the manifest, and its runtime's summary for faults.
    pub fn checks(&self, run: &Run) -> Vec<Check> {
        let mut checks = check_manifest(&run.files, &self.built.benchmark.checks);
        checks.extend(check_runtime(run.files.name, &run.summary));
        checks
    }
}

impl<'a> Programs<'a> {
    /// Prepares the programs of `sources` that match `only`, at each of `sizes`. Their runs go into `out`.
    pub fn prepare(
        sources: &'a [Source],
        only: &Selection,
        sizes: &[String],
        out: &Path,
    ) -> Result<Self, Failure> {
        let mut programs = Self::default();
        // Sources that record traces come first, because the others are compared with them.
        let (recording, others): (Vec<_>, Vec<_>) =
            (sources.iter()).partition(|source| source.recording().is_some());
        for source in recording.into_iter().chain(others) {
            for size in sizes {
                if let Some(choice) = source.choice(only, size)? {
                    programs.add(source, &choice, size, out)?;
                }
            }
        }
        Ok(programs)
    }

    fn add(
        &mut self,
        source: &'a Source,
        choice: &ProgramChoice,
        size_name: &str,
        out: &Path,
    ) -> Result<(), Failure> {
        let fetched = source.session.fetch(&source.suite, choice)?;
        let prepared = source.session.build(&fetched, |_, _| ())?;
        let backend = source.session.build.backend;
        let name =
            |program: &str| format!("{}/{program} {size_name} ({backend})", source.suite.name);
        let built = prepared.iter().filter_map(|item| {
            let built = Built::new(&source.suite, item, size_name).ok()?;
            Some((name(&built.benchmark.name), built))
        });
        let built: Vec<_> = built.collect();
        let is_new = |(name, _): &(String, _)| !self.known.contains_key(name);
        let protocol = source.recording().filter(|_| built.iter().any(is_new));
        if let Some(protocol) = protocol {
            let (run, folder) = source.verified(&fetched, &prepared, protocol, out)?;
            self.device.clone_from(&run.device);
            for summary in &run.benchmarks {
                let name = name(&summary.name);
                let program = built.iter().find(|(known, _)| *known == name);
                match (program, &summary.failure) {
                    (Some((_, program)), None) => {
                        let folder = folder.capture(&summary.name);
                        let known = source.read_reference(
                            program,
                            summary.reproducibility(),
                            &folder,
                            out,
                        )?;
                        self.known.insert(name, known);
                    }
                    (_, failure) => {
                        let why = failure.as_ref().map(|failure| failure.message.as_str());
                        let why = why.unwrap_or("it was not built");
                        self.failures.push(format!("{name}: {why}"));
                    }
                }
            }
        }
        for (name, built) in built {
            match self.known.get(&name) {
                Some((reference, traits)) => self.all.push(Program {
                    reference: Rc::clone(reference),
                    traits: Traits {
                        protocols: source.protocols(),
                        ..traits.clone()
                    },
                    name,
                    source,
                    built,
                }),
                None if source.recording().is_some() => {}
                None => self.failures.push(format!(
                    "{name}: no trace to compare it with; also pass a bundle of its suite built without --in-situ"
                )),
            }
        }
        Ok(())
    }
}
