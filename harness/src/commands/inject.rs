//! `superstep inject`: error injection.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bundle::Bundle;
use crate::probe::injection::{
    Campaign, CampaignOptions, InjectionExecutables, Made, Outcome, Tally, tally, tally_table,
};
use crate::probe::{write_found, write_page};
use crate::results::{Reporter, RunFolder};
use crate::suite::{Case, SourceHashes, SuiteOptions, redraw};
use serde_json::json;
use superstep_analysis::tables::{self, Column, Table};
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::installation::Installation;
use superstep_build::interrupt;
use superstep_build::manifest::Suite;
use superstep_build::probe::Probe;
use superstep_report::probes::{FOLDER, OutcomeShare, outcomes};
use superstep_trace::Backend;

use super::probe::{Built, ProgramArgs, Programs};

/// Arguments of `superstep inject`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    programs: ProgramArgs,
    /// Take the programs from this bundle (`superstep bundle … --probe injection`) instead of building them.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// How many errors are injected into each program, one a run.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    injections: u64,
    /// Another seed chooses other errors.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A run is taken for a hang after so many times the time of a run without an error, and 2 seconds more.
    #[arg(long, value_name = "TIMES", default_value_t = 10.0)]
    patience: f64,
    /// Make the campaign's results part of this run of the suite, and of its report.
    #[arg(long, value_name = "RUN_DIR")]
    into: Option<PathBuf>,
}

const COLUMNS: [(&str, &str); 11] = [
    ("number", "number of the injection, from 0"),
    ("launch", "the launch"),
    ("kernel", "its kernel"),
    ("site", "the instruction's place"),
    ("thread", "the thread, by its number in the launch"),
    (
        "execution",
        "which of the thread's executions of it in the launch, from 0",
    ),
    ("bit", "the bit that was flipped, from 0"),
    (
        "target",
        "value, predicate or memory (what a load or an atomic brought)",
    ),
    ("what", "the instruction's operation"),
    ("line", "its source line; 0 when unknown"),
    ("outcome", "what came of it"),
];

/// Name and title of what is found.
const PAGE: (&str, &str) = ("injection", "what came of one flipped bit");

/// The probes of a campaign: the first counts, the second flips a bit.
pub const PROBES: [&str; 2] = ["injection-profile", "injection"];

/// Processes that use one GPU at the same time: with more, each only waits longer for the driver.
const GPU_JOBS: usize = 4;

/// Runs the command.
pub fn run(mut args: Args) -> Result<i32, Failure> {
    fix_addresses();
    let installation = Installation::find();
    let bundle = args.bundle.as_deref().map(Bundle::open).transpose()?;
    let backend = match &bundle {
        Some(bundle) => bundle.info.backend,
        None => args.programs.build.target().backend,
    };
    if backend == Backend::Cuda && args.programs.build.jobs.is_none() {
        args.programs.build.jobs = Some(GPU_JOBS);
    }
    args.programs.build.set_jobs()?;
    let reporter = Reporter::new(args.programs.execute.message_format);
    let (suite, options, programs) =
        programs(&mut args, bundle.as_ref(), &installation, &reporter)?;
    let campaign = CampaignOptions {
        injections: args.injections,
        seed: args.seed,
        patience: args.patience.max(1.0),
    };
    let run = args.into.as_ref().map(RunFolder::open);
    // Before hours are spent: is it a run?
    let summary = run.as_ref().map(RunFolder::read_summary).transpose()?;
    let folder = match &run {
        Some(run) => run.path().join(FOLDER).join(PAGE.0),
        None => options.out.join(PAGE.0).join(&suite.name),
    };
    let mut tallies: Vec<(String, Vec<Tally>)> = Vec::new();
    let mut failed = None;
    for (name, executables) in programs {
        if interrupt::requested() {
            break;
        }
        let made = executables.and_then(|executables| {
            one(
                &suite,
                &name,
                &executables,
                &options,
                &campaign,
                &folder.join(&name),
                &reporter,
            )
        });
        match made {
            Ok(made) => {
                warn(&name, &made, &reporter);
                let classes: Vec<Outcome> = made.outcomes.iter().map(|made| made.1).collect();
                tallies.push((name, tally(&classes)));
            }
            Err(failure) => {
                reporter.line(&format!("error: {failure}"));
                failed = Some(failure.kind.exit_code());
            }
        }
    }
    reporter.finish();
    let size = options.size.as_ref().unwrap_or(&suite.default_size);
    let lines = [
        format!("Suite {}, size {size}, backend {backend}.", suite.name),
        format!("Command: {}", options.command.join(" ")),
        format!(
            "Up to {} injections into each program, seed {}.",
            args.injections, args.seed
        ),
    ];
    write(&folder, &suite.name, &lines, &tallies)?;
    if let (Some(run), Some(summary)) = (&run, &summary) {
        redraw(run, summary)?;
    }
    super::view::print(|out| {
        writeln!(out, "{}", tally_table(&tallies))?;
        writeln!(out, "results: {}", folder.display())
    })?;
    Ok(match failed {
        _ if interrupt::requested() => exit_code::INTERRUPTED,
        Some(code) if tallies.is_empty() => code,
        Some(_) => exit_code::BENCHMARK_FAILED,
        None => exit_code::OK,
    })
}

/// A program's name and its executables with both probes.
type Injectable = (String, Result<InjectionExecutables, Failure>);

/// The programs with both probes, from the bundle or built here.
fn programs(
    args: &mut Args,
    bundle: Option<&Bundle>,
    installation: &Installation,
    reporter: &Reporter,
) -> Result<(Suite, SuiteOptions, Vec<Injectable>), Failure> {
    let (only, size) = (
        args.programs.select.only.clone(),
        args.programs.select.size.clone(),
    );
    let mut with = |probe: &str| -> Result<Programs, Failure> {
        // The call before has narrowed them down to its program.
        args.programs.select.only.clone_from(&only);
        args.programs.select.size.clone_from(&size);
        let mut request = args.programs.request();
        match bundle {
            Some(bundle) => super::probe::from_bundle(&mut request, bundle, probe),
            None => {
                let probe = Probe::load(probe, installation)?;
                super::probe::built(request, installation, &probe, reporter)
            }
        }
    };
    let [counting, flipping] = PROBES;
    let (_, _, counting) = with(counting)?;
    let (suite, options, flipping) = with(flipping)?;
    let pair = |((name, counting), (_, flipping)): (Built, Built)| {
        let both = counting.and_then(|counting| {
            Ok(InjectionExecutables {
                profile: counting.probed,
                flip: flipping?.probed,
            })
        });
        (name, both)
    };
    let programs = counting.into_iter().zip(flipping).map(pair).collect();
    Ok((suite, options, programs))
}

/// Says what a campaign could not do as it should.
fn warn(name: &str, made: &Made, reporter: &Reporter) {
    if made.unsteady_places > 0 {
        reporter.line(&format!(
            "warning: {name} executed {} of the chosen instructions more or less often when it ran again: which threads do what is decided from run to run",
            made.unsteady_places
        ));
    }
    let missed = (made.outcomes.iter()).filter(|(_, outcome)| *outcome == Outcome::Missed);
    let missed = missed.count();
    if missed > 0 {
        reporter.line(&format!(
            "warning: {missed} injections into {name} did not reach their execution and are not counted"
        ));
    }
}

/// Lets the programs that we start have the same addresses in each run: what a flipped bit of a pointer leads to depends on them.
fn fix_addresses() {
    /// `personality` answers what is, and changes nothing.
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: no pointers; children inherit the setting, this process keeps its addresses.
    unsafe {
        let now = libc::personality(ASK);
        if now >= 0 {
            libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
    }
}

fn one(
    suite: &Suite,
    name: &str,
    executables: &InjectionExecutables,
    options: &SuiteOptions,
    wanted: &CampaignOptions,
    folder: &Path,
    reporter: &Reporter,
) -> Result<Made, Failure> {
    let size = options.size.as_ref().unwrap_or(&suite.default_size);
    let benchmark = suite.benchmark(name);
    let Some((benchmark, settings)) = benchmark.and_then(|b| Some((b, b.sizes.get(size)?))) else {
        let message = format!("failed to inject into {name}: it has no size {size}");
        return Err(Failure::new(FailureKind::Usage, message));
    };
    let campaign = Campaign {
        case: Case {
            suite,
            benchmark,
            size: settings,
            options,
            sources: &SourceHashes::new(),
        },
        size,
        executables,
        folder,
    };
    let done = AtomicU64::new(0);
    let made = campaign.run(wanted, |_| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        reporter.doing(format!("injecting into {name}: {done} runs"));
    })?;
    let table = Table {
        name: "outcomes",
        columns: COLUMNS
            .map(|(name, note)| Column {
                name,
                unit: "",
                note,
            })
            .to_vec(),
        rows: (made.outcomes.iter())
            .map(|(injection, outcome)| {
                vec![
                    json!(injection.number),
                    json!(injection.launch),
                    json!(injection.kernel),
                    json!(injection.site),
                    json!(injection.thread),
                    json!(injection.execution),
                    json!(injection.bit),
                    json!(injection.target),
                    json!(injection.what),
                    json!(injection.line),
                    json!(outcome.word()),
                ]
            })
            .collect(),
    };
    tables::write(folder, &[table]).map_err(|error| Failure::internal("write tables", error))?;
    Ok(made)
}

fn write(
    folder: &Path,
    suite: &str,
    lines: &[String],
    tallies: &[(String, Vec<Tally>)],
) -> Result<(), Failure> {
    let shares: Vec<OutcomeShare> = (tallies.iter())
        .flat_map(|(program, tallies)| {
            tallies.iter().map(|tally| OutcomeShare {
                program: program.clone(),
                class: tally.outcome.word(),
                count: tally.count,
                share: [
                    tally.interval.share,
                    tally.interval.low,
                    tally.interval.high,
                ],
            })
        })
        .collect();
    let found = outcomes(&shares);
    write_found(folder, &found)?;
    write_page(
        folder,
        PAGE,
        &format!("{} on {suite}", PAGE.0),
        lines,
        &found,
    )
}
