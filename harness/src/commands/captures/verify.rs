//! `superstep verify`: a capture against itself, or with `--counters` against the GPU's own counters.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bundle::Bundle;
use crate::capture::failure;
use crate::counters::{self, Comparison};
use crate::results::{MessageFormat, Reporter, human_count, plain_table, table_lines, write_json};
use crate::session::{Fetched, Prepared, Session};
use crate::suite::{Case, Execution, Kind};
use crate::verify;
use serde::Serialize;
use superstep_analysis::needs_accesses;
use superstep_build::failure::Failure;
use superstep_build::manifest::Size;
use superstep_build::{bail, exit_code};

use crate::arguments::{ExecuteArgs, FetchArgs, SelectArgs};
use crate::{capture, terminal};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Capture to check; with --counters, a capture or a bundle [default: the bundle that contains this executable].
    #[arg(value_name = "CAPTURE|BUNDLE")]
    target: Option<PathBuf>,
    /// Compare access groups with the hardware counters that Nsight Compute reads from the program without instrumentation.
    #[arg(long)]
    counters: bool,
    /// Take the counters from this CSV file of Nsight Compute instead of running it.
    #[arg(long, value_name = "FILE", requires = "counters")]
    counters_file: Option<PathBuf>,
    /// Nsight Compute [default: ncu in PATH, or the newest in /opt/nvidia/nsight-compute].
    #[arg(long, value_name = "FILE", requires = "counters")]
    ncu: Option<PathBuf>,
    /// Print the command that collects the counters instead of running it.
    #[arg(long, requires = "counters")]
    dry_run: bool,
    /// Also write the numbers of every launch as JSON.
    #[arg(long, value_name = "FILE", requires = "counters")]
    json: Option<PathBuf>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    execute: ExecuteArgs,
}

#[derive(Debug, Serialize)]
struct Program {
    benchmark: String,
    equal: bool,
    comparison: Comparison,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let Some(target) = args.target.clone().or_else(Bundle::own_folder) else {
        bail!(Usage, "failed to find the bundle: give its folder");
    };
    if !args.counters {
        return check_capture(&target);
    }
    if args.dry_run {
        println!(
            "ncu {} PROGRAM ARGUMENTS…",
            counters::ncu_arguments("counters.csv").join(" ")
        );
        return Ok(exit_code::OK);
    }
    let programs = if target.join("bundle.json").is_file() {
        bundle(args, &target)?
    } else {
        let Some(file) = &args.counters_file else {
            bail!(
                Usage,
                "failed to find counters for a capture: give them with --counters-file, or give a bundle"
            );
        };
        vec![program("capture", &target, file)?]
    };
    print(&programs);
    if let Some(path) = &args.json {
        write_json(path, &programs)?;
    }
    match programs.iter().all(|program| program.equal) {
        true => Ok(exit_code::OK),
        false => Ok(exit_code::VERIFICATION),
    }
}

/// Checks a capture by itself.
fn check_capture(path: &Path) -> Result<i32, Failure> {
    let capture = capture::open(path)?;
    let scan = {
        let _step = Reporter::only_step("verification", &capture);
        verify::scan(&capture).map_err(failure)?
    };
    let mut checks = vec![verify::capture_complete(&capture)];
    match scan.is_in_situ() {
        true => checks.extend(verify::check_sums(&capture)),
        false => checks.extend(verify::checks(&scan)),
    }
    if let Some(selection) = verify::selection_of(&capture) {
        let held = verify::check_selection(&capture, &scan, selection);
        checks.push(held.map_err(failure)?.0);
    }
    terminal::print(|out| {
        for check in &checks {
            let word = if check.ok { "holds" } else { "DOES NOT HOLD" };
            writeln!(out, "{}: {word}: {}", check.check, check.detail)?;
        }
        Ok(())
    })?;
    match checks.iter().all(|check| check.ok) {
        _ if capture.damaged => Ok(capture::conclude(&capture)),
        true => Ok(exit_code::OK),
        false => Ok(exit_code::VERIFICATION),
    }
}

fn program(benchmark: &str, capture: &Path, file: &Path) -> Result<Program, Failure> {
    let shown = file.display();
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) => bail!(Usage, "failed to read {shown}: {error}; give a CSV of ncu"),
    };
    let capture = capture::open(capture)?;
    needs_accesses(&capture, "what counters of a GPU are compared with").map_err(failure)?;
    if let Some(selection) = &capture.header.selection {
        bail!(
            Usage,
            "failed to compare counters: only a part of the program is recorded ({selection:?}), but the counters cover all of it"
        );
    }
    let profile = match counters::read_csv(&String::from_utf8_lossy(&text)) {
        Ok(profile) => profile,
        Err(error) => bail!(Verification, "{shown}: {error}"),
    };
    let comparison = counters::compare(&capture, &profile).map_err(failure)?;
    Ok(Program {
        benchmark: benchmark.to_owned(),
        equal: comparison.is_equal(),
        comparison,
    })
}

/// Runs the programs of a bundle traced, and untraced below Nsight Compute.
fn bundle(args: &Args, folder: &Path) -> Result<Vec<Program>, Failure> {
    let bundle = Bundle::open(folder)?;
    let session = Session::of_bundle(bundle, args.fetch.options()?, MessageFormat::Human);
    let suite = session.suite("")?;
    let execution = args.execute.execution(&session)?;
    let fetched = session.fetch(&suite, &args.select.choice()?)?;
    if args.counters_file.is_some() && fetched.benchmarks.len() != 1 {
        bail!(
            Usage,
            "failed to use --counters-file: it covers one program; name it with --only"
        );
    }
    let ncu = match &args.ncu {
        Some(path) => path.clone(),
        None if args.counters_file.is_some() => PathBuf::new(),
        None => find_ncu()?,
    };
    let out = args.execute.out.join(&suite.name).join("counters");
    let counting = Counting {
        session: &session,
        fetched: &fetched,
        execution: &execution,
        ncu: &ncu,
        counters_file: args.counters_file.as_deref(),
        out: std::path::absolute(&out).map_err(Failure::io("find", &out))?,
    };
    let mut programs = Vec::new();
    for prepared in session.build(&fetched, |_, _| ())? {
        programs.extend(counting.of(&prepared)?);
    }
    session.reporter.finish();
    Ok(programs)
}

/// How the programs of a bundle are counted.
struct Counting<'a> {
    session: &'a Session,
    fetched: &'a Fetched<'a>,
    execution: &'a Execution,
    ncu: &'a Path,
    /// Counters that were collected elsewhere.
    counters_file: Option<&'a Path>,
    out: PathBuf,
}

impl Counting<'_> {
    /// Counts one program; `None` when it does not have the size.
    fn of(&self, prepared: &Prepared<'_>) -> Result<Option<Program>, Failure> {
        let (benchmark, reporter) = (prepared.benchmark, &self.session.reporter);
        let (name, size_name) = (&benchmark.name, &self.fetched.size);
        let Some(size) = benchmark.sizes.get(size_name) else {
            reporter.line(&format!("{name}: skipped: it has no size {size_name}"));
            return Ok(None);
        };
        let place = self.out.join(name);
        if place.exists() {
            fs::remove_dir_all(&place).map_err(Failure::io("remove", &place))?;
        }
        let executables = prepared.executables.as_ref().map_err(Clone::clone)?;
        let case = |size| Case {
            suite: self.fetched.suite,
            benchmark,
            size,
            execution: self.execution,
            sources: &prepared.sources,
        };
        let capture = place.join("capture");
        let traced = {
            let _step = reporter.step(format!("{name}: traced run"), None);
            case(size).execute(Kind::Traced, &executables.traced, &place, Some(&capture))?
        };
        traced.ended_well(&case(size))?;
        if let Some(file) = self.counters_file {
            return program(name, &capture, file).map(Some);
        }
        let _step = reporter.step(format!("{name}: run under Nsight Compute"), None);
        let csv = place.join("counters.csv");
        let mut below = counters::ncu_arguments(&csv.display().to_string());
        below.push(executables.native.display().to_string());
        below.extend(size.args.iter().cloned());
        let size = Size {
            args: below,
            ..size.clone()
        };
        let counted = case(&size).execute(Kind::Native, self.ncu, &place, None)?;
        // A table says more than the exit code of what collected it.
        if let Some(failure) = counted.failure(&case(&size)).filter(|_| !csv.is_file()) {
            return Err(failure);
        }
        program(name, &capture, &csv).map(Some)
    }
}

fn find_ncu() -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("ncu"));
    let installed = fs::read_dir("/opt/nvidia/nsight-compute").into_iter();
    let installed = installed.flatten().flatten();
    let installed: BTreeSet<PathBuf> = installed.map(|one| one.path().join("ncu")).collect();
    let mut places = in_path.chain(installed.into_iter().rev());
    match places.find(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => bail!(
            Tool,
            "failed to find Nsight Compute: name it with --ncu, or collect the counters elsewhere (--dry-run prints how) and give them with --counters-file"
        ),
    }
}

fn print(programs: &[Program]) {
    let header = [
        "program",
        "kernel",
        "class",
        "groups",
        "requests",
        "executed",
        "all lanes off",
        "launches that differ",
    ];
    let mut table = plain_table(header, false);
    let number = |number: Option<u64>| number.map_or_else(|| "not counted".to_owned(), human_count);
    for program in programs {
        for (kernel, class, counts, differing) in program.comparison.by_kernel() {
            let (requests, executed) = (counts.requests, counts.executed);
            if counts.groups + requests.unwrap_or(0) + executed.unwrap_or(0) == 0 {
                continue;
            }
            let off = counts.predicated_off().map(|off| off.to_string());
            table.add_row([
                program.benchmark.clone(),
                kernel,
                class.word().to_owned(),
                human_count(counts.groups),
                number(requests),
                number(executed),
                off.unwrap_or_default(),
                differing.to_string(),
            ]);
        }
    }
    for line in table_lines(table, 3) {
        println!("{line}");
    }
    for program in programs {
        let verdict = if program.equal { "equal" } else { "DIFFERENT" };
        let launches = program.comparison.launches.len();
        let (name, why) = (&program.benchmark, program.comparison.unmatched.as_deref());
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        println!("{name}: {verdict} in {launches} launches{why}");
    }
}
