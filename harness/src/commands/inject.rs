//! `superstep inject`: error injection.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use superstep_analysis::tables;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::interrupt;
use superstep_report::probes::{FOLDER, OutcomeShare, outcomes};
use superstep_table::{Table, table};
use superstep_trace::Backend;

use super::common::start_workers;
use super::programs::ProgramArgs;
use crate::probe::injection::{
    Campaign, CampaignOptions, Injection, InjectionExecutables, Made, Outcome, PROBES, Tally,
    tally, tally_table,
};
use crate::probe::{write_found, write_page};
use crate::results::{Reporter, RunFolder};
use crate::session::{Fetched, Probed, Session};
use crate::suite::{Case, Execution, redraw};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Take the programs from this bundle (`superstep bundle … --probe injection`) instead of building them.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Number of errors to inject into each program, one per run.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    injections: u64,
    /// Seed that chooses the errors.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Treat a run as a hang after this many times the duration of a run without an error, plus 2 seconds.
    #[arg(long, value_name = "TIMES", default_value_t = 10.0)]
    patience: f64,
    /// Add the results to this run of the suite, and to its report.
    #[arg(long, value_name = "RUN_DIR")]
    into: Option<PathBuf>,
    #[command(flatten)]
    programs: ProgramArgs,
}

table! {
    /// One injection.
    struct OutcomeRow = "outcomes" {
        injection: Injection;
        outcome: &'static str = "what came of it";
    }
}

/// Name and title of what is found.
const PAGE: (&str, &str) = ("injection", "what came of one flipped bit");

/// Processes that use one GPU at the same time: with more, each only waits longer for the driver.
const GPU_JOBS: usize = 4;

pub fn run(args: &Args) -> Result<i32, Failure> {
    args.programs.execute.record.whole_launches()?;
    fix_addresses();
    let session = args.programs.session(args.bundle.as_deref())?;
    let own_jobs = (session.backend() == Backend::Cuda).then_some(GPU_JOBS);
    start_workers(args.programs.build.jobs.or(own_jobs))?;
    let execution = args.programs.execute.execution(&session)?;
    let asked = args.programs.asked(&session)?;
    let [counting, flipping] = PROBES.map(|name| session.probe(name));
    let (counting, flipping) = (counting?, flipping?);
    let fetched = session.fetch(&asked.suite, &asked.choice)?;
    let profiles = session.build_probed(&fetched, &counting)?;
    let flips = session.build_probed(&fetched, &flipping)?;
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
        None => (args.programs.execute.out)
            .join(PAGE.0)
            .join(&asked.suite.name),
    };
    let mut tallies: Vec<(String, Vec<Tally>)> = Vec::new();
    let mut failed = None;
    for (profile, flip) in profiles.iter().zip(&flips) {
        if interrupt::requested() {
            break;
        }
        match one(
            &session,
            &fetched,
            &execution,
            &campaign,
            (profile, flip),
            &folder,
        ) {
            Ok(tally) => tallies.push((profile.benchmark.name.clone(), tally)),
            Err(failure) => {
                session.reporter.line(&format!("error: {failure}"));
                failed = Some(failure.kind.exit_code());
            }
        }
    }
    session.reporter.finish();
    let lines = [
        format!(
            "Suite {}, size {}, backend {}.",
            asked.suite.name,
            fetched.size,
            session.backend()
        ),
        format!(
            "Command: {}",
            std::env::args().collect::<Vec<_>>().join(" ")
        ),
        format!(
            "Up to {} injections into each program, seed {}.",
            args.injections, args.seed
        ),
    ];
    write(&folder, &asked.suite.name, &lines, &tallies)?;
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

/// The campaign on one program, which is there with both probes.
fn one(
    session: &Session,
    fetched: &Fetched<'_>,
    execution: &Execution,
    wanted: &CampaignOptions,
    (profile, flip): (&Probed<'_>, &Probed<'_>),
    folder: &Path,
) -> Result<Vec<Tally>, Failure> {
    let benchmark = profile.benchmark;
    let name = &benchmark.name;
    let executables = InjectionExecutables {
        profile: profile.executables.clone()?.probed,
        flip: flip.executables.clone()?.probed,
    };
    let Some(size) = benchmark.sizes.get(&fetched.size) else {
        let message = format!(
            "failed to inject into {name}: it has no size {}",
            fetched.size
        );
        return Err(Failure::new(FailureKind::Usage, message));
    };
    let folder = &folder.join(name);
    let campaign = Campaign {
        case: Case {
            suite: fetched.suite,
            benchmark,
            size,
            execution,
            sources: &profile.sources,
        },
        size: &fetched.size,
        executables: &executables,
        folder,
    };
    let done = AtomicU64::new(0);
    let _step = (session.reporter).step(format!("{name}: injection"), None);
    let made = campaign.run(wanted, |_| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let what = format!("injecting into {name}: {done} runs");
        session.reporter.doing(what);
    })?;
    write_outcomes(folder, &made)?;
    warn(name, &made, &session.reporter);
    let classes: Vec<Outcome> = made.outcomes.iter().map(|made| made.1).collect();
    Ok(tally(&classes))
}

/// Says what a campaign could not do as it should.
fn warn(name: &str, made: &Made, reporter: &Reporter) {
    if made.unsteady_places > 0 {
        reporter.line(&format!(
            "warning: {name} executed {} of the chosen instructions more or less often when it ran again: what its threads do differs from run to run",
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

fn write_outcomes(folder: &Path, made: &Made) -> Result<(), Failure> {
    let rows = made.outcomes.iter().map(|(injection, outcome)| OutcomeRow {
        injection: injection.clone(),
        outcome: outcome.word(),
    });
    let table: Table = rows.collect();
    tables::write(folder, &[table]).map_err(|error| Failure::internal("write tables", error))?;
    Ok(())
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
