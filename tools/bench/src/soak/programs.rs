//! The programs of the soak: where they come from, and the verified trace of each that cases are held against.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

use superstep_analysis::run_summary::{BenchmarkSummary, Check, RunSummary};
use superstep_build::compile::{BuildOptions, Executables};
use superstep_build::failure::Failure;
use superstep_build::fetch::FetchOptions;
use superstep_build::manifest::{Benchmark, Size, Suite};
use superstep_harness::{
    AnalysisOptions, Bundle, Case, Execution, Fetched, Kind, MessageFormat, Prepared,
    ProgramChoice, Run, RunFolder, Running, Selection, Session, SuiteOptions, SuiteRun,
    capture_failure, check_manifest, check_runtime, golden_folder,
};
use superstep_trace::{Backend, Capture, Protocol};

use super::draw::Traits;
use super::judge::{Reference, lasts};

/// The capture in the folder of a run.
pub const CAPTURE: &str = "capture";

/// A suite with a session that builds its programs, or has them from a bundle.
pub struct Source {
    session: Session,
    suite: Suite,
    /// Available programs.
    names: Vec<String>,
}

/// A program at one size, which can be started.
pub struct Built<'a> {
    source: &'a Source,
    benchmark: &'a Benchmark,
    size: &'a Size,
    size_name: String,
    executables: Executables,
    hashes: BTreeMap<String, String>,
}

/// A program with the trace that its cases are held against.
pub struct Program<'a> {
    pub built: Built<'a>,
    pub reference: Rc<Reference>,
    pub traits: Traits,
}

#[derive(Default)]
pub struct Programs<'a> {
    pub all: Vec<Program<'a>>,
    /// Name of the device.
    pub device: String,
    /// Problems of the others.
    pub failures: Vec<String>,
    known: HashMap<String, (Rc<Reference>, Traits)>,
}

impl Source {
    /// The suite of that name on the CPU backend.
    pub fn suite(name: &str, fetch: &FetchOptions) -> Result<Self, Failure> {
        let build = BuildOptions::new(Backend::Cpu);
        let session = Session::new(build, fetch.clone(), MessageFormat::Human);
        let suite = session.suite(name)?;
        let names = suite.benchmarks.iter().map(|one| one.name.clone());
        Ok(Self {
            names: names.collect(),
            suite,
            session,
        })
    }

    pub fn bundle(folder: &Path, fetch: &FetchOptions) -> Result<Self, Failure> {
        let bundle = Bundle::open(folder)?;
        let names = bundle.info.benchmarks.clone();
        let session = Session::of_bundle(bundle, fetch.clone(), MessageFormat::Human);
        Ok(Self {
            suite: session.suite("")?,
            session,
            names,
        })
    }

    /// The protocols that its traced programs can use.
    fn protocols(&self) -> Vec<Protocol> {
        match self.session.backend() {
            Backend::Cpu => Protocol::ALL.to_vec(),
            Backend::Cuda => vec![self.session.build.protocol],
        }
    }

    /// The one with which they record, if they can.
    fn recording(&self) -> Option<Protocol> {
        let mut protocols = self.protocols().into_iter();
        protocols.find(|protocol| *protocol != Protocol::InSitu)
    }

    /// The chosen programs that have this size; `None` where there are none.
    fn choice(&self, only: &Selection, size: &str) -> Result<Option<ProgramChoice>, Failure> {
        let backend = self.session.backend();
        let names: Vec<String> = (self.suite.benchmarks.iter())
            .filter(|one| one.only_on.is_none_or(|only| only == backend))
            .filter(|one| one.sizes.contains_key(size) && self.names.contains(&one.name))
            .filter(|one| only.takes(&one.name, &self.suite.groups))
            .map(|one| one.name.clone())
            .collect();
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some(ProgramChoice {
            size: Some(size.to_owned()),
            selection: Selection::new(&names, &[])?,
        }))
    }

    fn execution(&self, protocol: Protocol) -> Execution {
        let mut execution = Execution::new(self.session.backend(), self.session.fetch.clone());
        execution.config.protocol = Some(protocol);
        execution
    }

    /// Runs and verifies programs as `superstep suite` does.
    fn verified(
        &self,
        fetched: &Fetched<'_>,
        prepared: &[Prepared<'_>],
        protocol: Protocol,
        out: &Path,
    ) -> Result<(RunSummary, RunFolder), Failure> {
        let options = SuiteOptions {
            execution: self.execution(protocol),
            analysis: AnalysisOptions::default(),
            running: Running {
                resume: None,
                repeat: 1,
                require_golden: false,
                junit: None,
            },
            out: out.to_owned(),
            golden: Some(golden_folder(&self.suite)),
            bless: false,
            verify_in_situ: false,
        };
        SuiteRun::begin(&self.session, fetched, &options)?.run(prepared)
    }
}

impl Built<'_> {
    /// For messages.
    pub fn name(&self) -> String {
        format!(
            "{}/{} {} ({})",
            self.source.suite.name,
            self.benchmark.name,
            self.size_name,
            self.source.session.backend()
        )
    }

    pub fn execution(&self) -> Execution {
        let session = &self.source.session;
        Execution::new(session.backend(), session.fetch.clone())
    }

    /// Runs it traced, in `folder`; its capture is put there, too. And the failure of a run that did not end as the manifest expects.
    pub fn trace(
        &self,
        execution: &Execution,
        folder: &Path,
    ) -> Result<(Run, Option<Failure>), Failure> {
        let case = Case {
            suite: &self.source.suite,
            benchmark: self.benchmark,
            size: self.size,
            execution,
            sources: &self.hashes,
        };
        let capture = folder.join(CAPTURE);
        let run = case.execute(
            Kind::Traced,
            &self.executables.traced,
            folder,
            Some(&capture),
        )?;
        let failure = run.failure(&case);
        Ok((run, failure))
    }

    /// Whether its output is what the manifest expects, and what its runtime says of itself.
    pub fn checks(&self, run: &Run) -> Vec<Check> {
        let mut checks = check_manifest(&run.files, &self.benchmark.checks);
        checks.extend(check_runtime(run.files.name, &run.summary));
        checks
    }

    /// Learns what cases need from the trace in `folder`, which was verified.
    fn learn(
        &self,
        summary: &BenchmarkSummary,
        folder: &Path,
        out: &Path,
    ) -> Result<(Rc<Reference>, Traits), Failure> {
        let backend = self.source.session.backend();
        let open = |folder: &Path| Capture::open(folder).map_err(capture_failure);
        let mut reference = Reference::new(open(folder)?, summary.same())?;
        if backend == Backend::Cuda {
            let mut execution = self.execution();
            execution.config.selection.launch_skip = u64::MAX;
            let place = out.join("alike");
            self.trace(&execution, &place)?;
            reference.learn_alike(&open(&place.join(CAPTURE))?);
            std::fs::remove_dir_all(&place).map_err(Failure::io("remove", &place))?;
        }
        let capture = reference.capture();
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
            lasts: Cell::new(lasts(capture)),
        };
        Ok((Rc::new(reference), traits))
    }
}

impl<'a> Programs<'a> {
    /// The programs of `sources` that match `only`, at each of these sizes; what they leave goes into `out`.
    pub fn prepare(
        sources: &'a [Source],
        only: &Selection,
        sizes: &[String],
        out: &Path,
    ) -> Result<Self, Failure> {
        let mut programs = Self::default();
        // Those that record come first: the others are held against their traces.
        let (first, last): (Vec<_>, Vec<_>) =
            (sources.iter()).partition(|source| source.recording().is_some());
        for source in first.into_iter().chain(last) {
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
        let built = prepared.iter().filter_map(|item| {
            Some(Built {
                source,
                benchmark: item.benchmark,
                size: item.benchmark.sizes.get(size_name)?,
                size_name: size_name.to_owned(),
                executables: item.executables.clone().ok()?,
                hashes: item.sources.clone(),
            })
        });
        let built: Vec<_> = built.collect();
        let is_new = |program: &Built| !self.known.contains_key(&program.name());
        let protocol = source.recording().filter(|_| built.iter().any(is_new));
        if let Some(protocol) = protocol {
            let (run, folder) = source.verified(&fetched, &prepared, protocol, out)?;
            self.device.clone_from(&run.device);
            for summary in &run.benchmarks {
                let mut built = built.iter();
                let program = built.find(|program| program.benchmark.name == summary.name);
                match (program, &summary.failure) {
                    (Some(program), None) => {
                        let folder = folder.capture(&summary.name);
                        let known = program.learn(summary, &folder, out)?;
                        self.known.insert(program.name(), known);
                    }
                    (_, failure) => {
                        let why = failure.as_ref().map(|failure| failure.message.as_str());
                        let (suite, name) = (&source.suite.name, &summary.name);
                        let why = why.unwrap_or("it was not built");
                        self.failures
                            .push(format!("{suite}/{name} {size_name}: {why}"));
                    }
                }
            }
        }
        for built in built {
            match self.known.get(&built.name()) {
                Some((reference, traits)) => self.all.push(Program {
                    reference: Rc::clone(reference),
                    traits: Traits {
                        protocols: source.protocols(),
                        ..traits.clone()
                    },
                    built,
                }),
                None if source.recording().is_some() => {}
                None => self.failures.push(format!(
                    "{}: there is no trace to hold it against; also give a bundle of its suite that was built without --in-situ",
                    built.name()
                )),
            }
        }
        Ok(())
    }
}
