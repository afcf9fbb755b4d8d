//! `superstep inject`: error injection.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use superstep_analysis::tables;
use superstep_build::failure::Failure;
use superstep_build::{exit_code, interrupt};
use superstep_report::probes::{OutcomeShare, outcomes};
use superstep_table::{Table, table};
use superstep_trace::Backend;

use crate::arguments::programs::ProgramArgs;
use crate::arguments::start_workers;
use crate::probe::injection::{
    Campaign, CampaignOptions, Effect, Injection, Outcome, PROBES, Tally, Vulnerability,
    effect_table, tally,
};
use crate::probe::{write_found, write_page};
use crate::results::Reporter;
use crate::session::{Fetched, Probed, Session};
use crate::suite::Execution;
use crate::terminal::{print, print_json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Take the programs from this bundle (`superstep bundle … --probe injection`) instead of building them.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    campaign: CampaignOptions,
    #[command(flatten)]
    programs: ProgramArgs,
}

table! {
    /// One injection.
    struct OutcomeRow = "outcomes" {
        injection: Injection;
        outcome: &'static str = "outcome of the run";
        effect: &'static str = "masked, DUE or SDC; empty when missed";
    }
}

const PAGE: (&str, &str) = ("injection", "Outcomes of flipping one bit");

/// Number of processes that share one GPU; more would only wait for the driver.
const GPU_JOBS: usize = 4;

pub fn run(args: &Args) -> Result<i32, Failure> {
    args.programs.execute.record.whole_launches()?;
    fix_addresses();
    let session = args.programs.session(args.bundle.as_deref())?;
    let own_jobs = (session.build.backend == Backend::Cuda).then_some(GPU_JOBS);
    start_workers(args.programs.build.jobs.or(own_jobs))?;
    let execution = args.programs.execute.execution(&session)?;
    let (suite, choice) = args.programs.chosen(&session)?;
    let [counting, flipping] = PROBES.map(|name| session.probe(name));
    let (counting, flipping) = (counting?, flipping?);
    let fetched = session.fetch(&suite, &choice)?;
    let profiles = session.build_probed(&fetched, &counting)?;
    let flips = session.build_probed(&fetched, &flipping)?;
    let out = &args.programs.execute.out;
    let folder = out.join(PAGE.0).join(&suite.name);
    let mut tallies: Vec<(String, Vec<Tally>)> = Vec::new();
    let mut all = Vec::new();
    let mut failed = None;
    for (profile, flip) in profiles.iter().zip(&flips) {
        if interrupt::requested() {
            break;
        }
        let name = &profile.benchmark.name;
        let (programs, place) = ((profile, flip), folder.join(name));
        match run_one(
            &session,
            &fetched,
            &execution,
            programs,
            &args.campaign,
            &place,
        ) {
            Ok(outcomes) => {
                let classes: Vec<Outcome> = outcomes.iter().map(|outcome| outcome.1).collect();
                tallies.push((name.clone(), tally(&classes)));
                all.push((name.clone(), outcomes));
            }
            Err(failure) => {
                session.reporter.line(&format!("error: {failure}"));
                failed = Some(exit_code::of(failure.kind));
            }
        }
    }
    session.reporter.finish();
    let (suite, size, backend) = (&suite.name, &fetched.size, session.build.backend);
    let CampaignOptions {
        injections, seed, ..
    } = args.campaign;
    let command: Vec<String> = std::env::args().collect();
    let lines = [
        format!("Suite {suite}, size {size}, backend {backend}."),
        format!("Command: {}", command.join(" ")),
        format!("Up to {injections} injections into each program, seed {seed}."),
    ];
    let all = Vulnerability::of(&all);
    write(&folder, suite, &lines, &tallies, &all)?;
    let execute = &args.programs.execute;
    let document = json!({
        "schema_version": 1, "suite": suite, "size": size, "backend": backend, "seed": seed, "folder": folder,
        "programs": tallies.iter().cloned().collect::<BTreeMap<_, _>>(),
    });
    session
        .reporter
        .message("injection-finished", document.clone());
    if execute.json {
        print_json(&document)?;
    } else if execute.prints_text() {
        print(|out| {
            writeln!(out, "{}\n", effect_table(&tallies))?;
            writeln!(out, "{}", all.most_vulnerable())?;
            writeln!(out, "results: {}", folder.display())
        })?;
    }
    Ok(match failed {
        _ if interrupt::requested() => exit_code::INTERRUPTED,
        Some(code) if tallies.is_empty() => code,
        Some(_) => exit_code::BENCHMARK_FAILED,
        None => exit_code::OK,
    })
}

fn run_one(
    session: &Session,
    fetched: &Fetched<'_>,
    execution: &Execution,
    (profile, flip): (&Probed<'_>, &Probed<'_>),
    options: &CampaignOptions,
    folder: &Path,
) -> Result<Vec<(Injection, Outcome)>, Failure> {
    let (name, reporter) = (&profile.benchmark.name, &session.reporter);
    let (counting, flipping) = (profile.executables.clone()?, flip.executables.clone()?);
    let campaign = Campaign {
        case: fetched.case(profile, execution)?,
        size: &fetched.size,
        profile: &counting.probed,
        flip: &flipping.probed,
        folder,
    };
    let done = AtomicU64::new(0);
    let _step = reporter.step(format!("{name}: injection"), None);
    let (outcomes, changed_places) = campaign.run(options, || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        reporter.doing(format!("injecting into {name}: {done} runs"));
    })?;
    write_outcomes(folder, &outcomes)?;
    warn(name, &outcomes, changed_places, reporter);
    Ok(outcomes)
}

/// Warns about instructions whose counts vary, and about missed injections.
fn warn(name: &str, outcomes: &[(Injection, Outcome)], changed_places: u64, reporter: &Reporter) {
    if changed_places > 0 {
        reporter.line(&format!(
            "warning: {name} executed {changed_places} of the chosen instructions a different number of times in another run: its threads behave differently from run to run"
        ));
    }
    let missed = (outcomes.iter()).filter(|(_, outcome)| *outcome == Outcome::Missed);
    let missed = missed.count();
    if missed > 0 {
        reporter.line(&format!(
            "warning: {missed} injections into {name} never reached their instruction and are not counted"
        ));
    }
}

/// Disables address randomisation in the programs that this process starts, since the effect of a flipped pointer bit
/// depends on addresses.
fn fix_addresses() {
    /// Makes `personality` return the current setting without changing it.
    const QUERY: libc::c_ulong = 0xffff_ffff;
    // SAFETY: no pointers are passed. Children inherit the setting; this process keeps its addresses.
    unsafe {
        let now = libc::personality(QUERY);
        if now >= 0 {
            libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
    }
}

fn write_outcomes(folder: &Path, outcomes: &[(Injection, Outcome)]) -> Result<(), Failure> {
    let rows = outcomes.iter().map(|(injection, outcome)| OutcomeRow {
        injection: injection.clone(),
        outcome: outcome.word(),
        effect: outcome.effect().map_or("", Effect::name),
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
    all: &Vulnerability,
) -> Result<(), Failure> {
    let shares = tallies.iter().flat_map(|(program, tallies)| {
        tallies.iter().map(|tally| {
            let [share, low, high] = tally.share.map(|share| (1e4 * share).round() / 1e4);
            OutcomeShare {
                program: program.clone(),
                outcome: tally.outcome.word(),
                effect: tally.outcome.effect().map_or("", Effect::name),
                count: tally.count,
                share,
                low,
                high,
            }
        })
    });
    let mut found = outcomes(&shares.collect::<Vec<_>>());
    let (line_table, kernel_table) = (Table::of(&all.lines), Table::of(&all.kernels));
    found.tables.extend([line_table, kernel_table]);
    write_found(folder, &found)?;
    let title = format!("{} on {suite}", PAGE.0);
    write_page(folder, PAGE, &title, lines, &found)
}
