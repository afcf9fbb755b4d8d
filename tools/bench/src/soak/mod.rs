//! `superstep-bench soak`: hours of random runs, some of them killed, each compared with its program's verified trace.

mod draw;
mod judge;
mod programs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use superstep_analysis::run_summary::Host;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::run::End;
use superstep_build::{bail, exit_code, interrupt};
use superstep_harness::{FetchArgs, Selection, capture_failure, host, write_json};
use superstep_table::{Table, table};
use superstep_trace::{Capture, TraceError};

use crate::output::say_table;
use draw::{Draw, Random};
use judge::Verdict;
use programs::{CAPTURE, Program, Programs, Source};

/// Maximum number of failed cases whose folders are kept; others can be reproduced.
const MAX_KEPT_CASES: usize = 10;

const SIGKILL: i32 = 9;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundles of the programs to run, of any suite and protocol; each suite needs a bundle that records traces.
    /// Without bundles, the suites given by --suite are built and run on the CPU.
    #[arg(value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    /// Keep starting new cases for this many hours.
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    hours: f64,
    /// Seed from which the cases' seeds are drawn [default: current time].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Repeat the case with this seed and keep its folder; pass the other options of its run as well.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["hours", "seed"])]
    case: Option<u64>,
    /// Suites to build if no bundle is given, comma-separated.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "thesis,features,stress"
    )]
    suite: Vec<String>,
    /// Run only programs whose names match one of these comma-separated patterns: globs, `regex:EXPR`, or `@GROUP`.
    #[arg(long, value_name = "PATTERNS")]
    only: Vec<String>,
    /// Sizes of the programs, comma-separated.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "tiny,small"
    )]
    size: Vec<String>,
    /// Time limit in seconds after which a run counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    timeout: f64,
    /// Folder for the cases; folders of cases that pass are removed.
    #[arg(long, short, value_name = "DIR", default_value = "out/soak")]
    out: PathBuf,
    /// Also write all results as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    fetch: FetchArgs,
}

table! {
    /// Results of the cases of one kind.
    struct Row = "soak": Serialize {
        kind: String = "backend, protocol, and whether only part of the run was recorded";
        runs: u64 = "cases";
        killed: u64 = "programs that were killed before they finished";
        incomplete: u64 = "killed programs that left an incomplete capture";
        launches: u64 = "launches that were compared as a whole";
        accesses: u64 ["accesses"] = "thread accesses";
        capture_bytes: u64 ["bytes"] = "total size of the captures";
        failures: u64 = "failed cases";
        seconds: f64 ["s"] = "total time of the cases";
    }
}

#[derive(Debug, Serialize)]
struct FailedCase {
    /// Seed of the case; `None` if a program failed before the first case.
    case: Option<u64>,
    program: String,
    what: String,
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Results {
    schema_version: u32,
    tool: String,
    command: Vec<String>,
    started: String,
    host: Host,
    device: String,
    seed: u64,
    programs: usize,
    hours: f64,
    interrupted: bool,
    kinds: BTreeMap<String, Row>,
    total: Row,
    failures: Vec<FailedCase>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let fetch = args.fetch.options()?;
    let sources: Result<Vec<Source>, Failure> = match args.bundles.is_empty() {
        true => (args.suite.iter())
            .map(|name| Source::suite(name, &fetch))
            .collect(),
        false => (args.bundles.iter())
            .map(|folder| Source::bundle(folder, &fetch))
            .collect(),
    };
    let sources = sources?;
    std::fs::create_dir_all(&args.out).map_err(Failure::io("create", &args.out))?;
    // The programs run in other folders, so relative paths would not work.
    let out = (args.out.canonicalize()).map_err(Failure::io("open", &args.out))?;
    let scratch = tempfile::tempdir_in(&out);
    let scratch = scratch.map_err(Failure::io("create a folder in", &out))?;
    let only = Selection::new(&args.only, &[])?;
    let programs = Programs::prepare(&sources, &only, &args.size, scratch.path())?;
    if interrupt::requested() {
        return Ok(exit_code::INTERRUPTED);
    }
    for failure in &programs.failures {
        say!("skipped: {failure}");
    }
    let mut soak = Soak {
        args,
        out,
        results: Results::new(args, &programs),
        start: Instant::now(),
    };
    match args.case {
        Some(seed) => soak.run_case(seed, &programs.all)?,
        None => soak.run_cases(&programs.all)?,
    }
    soak.end()
}

struct Soak<'a> {
    args: &'a Args,
    out: PathBuf,
    results: Results,
    start: Instant,
}

impl Soak<'_> {
    /// Runs cases until the time is up or the user interrupts the run.
    fn run_cases(&mut self, programs: &[Program<'_>]) -> Result<(), Failure> {
        let limit = Duration::try_from_secs_f64(self.args.hours * 3600.0).unwrap_or(Duration::MAX);
        let mut seeds = Random::new(self.results.seed);
        self.start = Instant::now();
        while self.start.elapsed() < limit && !interrupt::requested() {
            self.run_case(seeds.seed(), programs)?;
        }
        Ok(())
    }

    fn run_case(&mut self, seed: u64, programs: &[Program<'_>]) -> Result<(), Failure> {
        let mut random = Random::new(seed);
        let Some(program) = random.item(programs) else {
            bail!(
                Usage,
                "no programs to run: none match --only and --size, or their first runs failed"
            );
        };
        let draw = Draw::new(&mut random, &program.traits);
        let folder = self.out.join(format!("case-{seed}"));
        remove(&folder)?;
        let start = Instant::now();
        let verdict = match self.run_and_judge(program, &draw, &folder) {
            Ok(verdict) => verdict,
            Err(failure) if failure.kind == FailureKind::Interrupted => return remove(&folder),
            Err(failure) => Verdict::wrong(failure.message),
        };
        let seconds = start.elapsed().as_secs_f64();
        let is_right = verdict.problems.is_empty();
        let is_whole = draw.config.selection.is_everything();
        let (word, what) = (if is_right { "right" } else { "WRONG" }, draw.line());
        let name = program.name.clone();
        let duration = &program.traits.duration;
        if is_right && !verdict.killed && is_whole {
            duration.set(duration.get().min(verdict.duration));
        }
        let state = match (verdict.killed, verdict.complete, verdict.stored_bytes) {
            (false, ..) => "exited",
            (true, _, 0) => "nothing",
            (true, true, _) => "complete",
            (true, false, _) => "partial",
        };
        say!("case {seed:10}  {word}  {state:8} {seconds:7.2} s  {name}: {what}");
        for problem in &verdict.problems {
            say!("    {problem}");
        }
        let part = if is_whole { "" } else { ", partial" };
        let protocol = draw.config.protocol.unwrap_or_default();
        let kind = format!("{}, {protocol}{part}", program.traits.backend);
        let kind_row = self.results.kinds.entry(kind.clone()).or_default();
        kind_row.kind = kind;
        for row in [kind_row, &mut self.results.total] {
            row.add(&verdict, seconds);
        }
        if self.args.case.is_some() {
            say!("    {}", folder.display());
        } else if is_right || self.results.failures.len() >= MAX_KEPT_CASES {
            remove(&folder)?;
        }
        if !is_right {
            self.results.failures.push(FailedCase {
                case: Some(seed),
                program: name,
                what,
                problems: verdict.problems,
            });
            self.write()?;
        }
        Ok(())
    }

    /// Runs a case and judges its capture.
    fn run_and_judge(
        &self,
        program: &Program<'_>,
        draw: &Draw,
        folder: &Path,
    ) -> Result<Verdict, Failure> {
        let limit = Duration::try_from_secs_f64(self.args.timeout).unwrap_or(Duration::MAX);
        let (run, failure) = program.trace(draw, limit, folder)?;
        let was_killed = draw.kill.is_some() && run.files.end == End::Signalled(SIGKILL);
        let mut problems = Vec::new();
        if !was_killed {
            if let Some(failure) = failure {
                return match failure.kind {
                    FailureKind::Timeout => Ok(Verdict::wrong("it timed out".to_owned())),
                    _ => Err(failure),
                };
            }
            let checks = program.checks(&run).into_iter();
            let wrong = checks.filter(|check| !check.ok);
            problems.extend(wrong.map(|check| format!("{}: {}", check.check, check.detail)));
        }
        let mut capture = match Capture::open(folder.join(CAPTURE)) {
            Ok(capture) => capture,
            // The program was killed before it created the capture.
            Err(TraceError::NotACapture { .. }) if was_killed => {
                return Ok(Verdict {
                    killed: true,
                    ..Verdict::default()
                });
            }
            Err(error) => return Err(capture_failure(error)),
        };
        capture.cancellation = interrupt::cancellation();
        let mut verdict = program
            .reference
            .judge(&capture, &draw.config.selection, was_killed)?;
        verdict.problems.splice(0..0, problems);
        Ok(verdict)
    }

    fn write(&mut self) -> Result<(), Failure> {
        self.results.hours = self.start.elapsed().as_secs_f64() / 3600.0;
        self.results.interrupted = interrupt::requested();
        let path = self.args.json.as_ref();
        path.map_or(Ok(()), |path| write_json(path, &self.results))
    }

    fn end(mut self) -> Result<i32, Failure> {
        self.write()?;
        print(&self.results);
        if !self.results.failures.is_empty() {
            let (number, out) = (self.results.failures.len(), self.out.display());
            bail!(Verification, "{number} failures; see the table and {out}");
        }
        Ok(if self.results.interrupted {
            exit_code::INTERRUPTED
        } else {
            exit_code::OK
        })
    }
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Failure::io("remove", &folder)),
    }
}

impl Row {
    fn add(&mut self, verdict: &Verdict, seconds: f64) {
        let is_incomplete = verdict.killed && verdict.stored_bytes > 0 && !verdict.complete;
        self.runs += 1;
        self.killed += u64::from(verdict.killed);
        self.incomplete += u64::from(is_incomplete);
        self.launches += verdict.launches;
        self.accesses += verdict.accesses;
        self.capture_bytes += verdict.stored_bytes;
        self.failures += u64::from(!verdict.problems.is_empty());
        self.seconds += seconds;
    }
}

impl Results {
    fn new(args: &Args, programs: &Programs<'_>) -> Self {
        let now = chrono::Utc::now();
        let failed = |why: &String| FailedCase {
            case: None,
            program: String::new(),
            what: "the first run".to_owned(),
            problems: vec![why.clone()],
        };
        Self {
            schema_version: 1,
            tool: format!("superstep {}", env!("CARGO_PKG_VERSION")),
            command: std::env::args().collect(),
            started: now.to_rfc3339(),
            host: host(),
            device: programs.device.clone(),
            seed: (args.seed.or(args.case)).unwrap_or(now.timestamp().unsigned_abs()),
            programs: programs.all.len(),
            hours: 0.0,
            interrupted: false,
            kinds: BTreeMap::new(),
            total: Row {
                kind: "all".to_owned(),
                ..Row::default()
            },
            failures: programs.failures.iter().map(failed).collect(),
        }
    }
}

fn print(results: &Results) {
    say!("");
    say_table(&Table::of(results.kinds.values().chain([&results.total])));
    for wrong in &results.failures {
        let case = wrong.case.map(|seed| format!("--case {seed}: "));
        let (case, first) = (case.unwrap_or_default(), wrong.problems.first());
        let (program, what) = (&wrong.program, &wrong.what);
        say!(
            "{case}{program} {what}: {}",
            first.map_or("", String::as_str)
        );
    }
    say!(
        "seed {}, {} programs, {:.2} hours; device: {}",
        results.seed,
        results.programs,
        results.hours,
        results.device
    );
}
