//! `superstep verify`: checks a capture, or compares it with hardware counters.

use std::fs;
use std::path::{Path, PathBuf};

use crate::capture::failure;
use crate::counters::{self, Comparison};
use crate::results::{Reporter, human_count, plain_table, table_lines};
use crate::verify;
use serde_json::json;
use superstep_analysis::needs_accesses;
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code};

use crate::{capture, terminal};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Capture: its folder, any file in it, or the folder of a run.
    #[arg(value_name = "CAPTURE", required_unless_present = "ncu_options")]
    path: Option<PathBuf>,
    /// Compare access groups with the hardware counters in this CSV file, which Nsight Compute wrote for the untraced
    /// program.
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Print the options that make Nsight Compute collect the counters: `ncu $(superstep verify --ncu-options)
    /// PROGRAM`.
    #[arg(long, conflicts_with = "path")]
    ncu_options: bool,
    /// Print JSON; with --counters, include the counts of every launch.
    #[arg(long, conflicts_with = "ncu_options")]
    json: bool,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let Some(path) = &args.path else {
        return terminal::print_lines(&[counters::ncu_options()]);
    };
    let Some(file) = &args.counters else {
        return check_capture(path, args.json);
    };
    let comparison = compare(path, file)?;
    match args.json {
        true => terminal::print_json(&comparison)?,
        false => print(&comparison)?,
    }
    match comparison.is_equal() {
        true => Ok(exit_code::OK),
        false => Ok(exit_code::VERIFICATION),
    }
}

fn check_capture(path: &Path, json: bool) -> Result<i32, Failure> {
    let capture = capture::open(path)?;
    let scan = {
        let _step = Reporter::single_step("verification", &capture);
        verify::scan(&capture).map_err(failure)?
    };
    let mut checks = vec![verify::capture_complete(&capture)];
    match scan.is_in_situ() {
        true => checks.extend(verify::check_sums(&capture)),
        false => checks.extend(verify::checks(&scan)),
    }
    if let Some(selection) = &capture.header.selection {
        let check = verify::check_selection(&capture, &scan, selection);
        checks.push(check.map_err(failure)?.0);
    }
    match json {
        true => terminal::print_json(&json!({ "schema_version": 1, "checks": checks }))?,
        false => terminal::print(|out| {
            for check in &checks {
                let word = if check.ok { "holds" } else { "DOES NOT HOLD" };
                writeln!(out, "{}: {word}: {}", check.check, check.detail)?;
            }
            Ok(())
        })?,
    }
    match checks.iter().all(|check| check.ok) {
        _ if capture.damaged => Ok(capture::conclude(&capture)),
        true => Ok(exit_code::OK),
        false => Ok(exit_code::VERIFICATION),
    }
}

fn compare(capture: &Path, file: &Path) -> Result<Comparison, Failure> {
    let shown = file.display();
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) => bail!(
            Usage,
            "failed to read {shown}: {error}; expected a CSV file from ncu"
        ),
    };
    let capture = capture::open(capture)?;
    needs_accesses(&capture, "accesses to compare with a GPU's counters").map_err(failure)?;
    if let Some(selection) = &capture.header.selection {
        bail!(
            Usage,
            "failed to compare counters: only part of the program is recorded ({selection:?}), but the counters cover all of it"
        );
    }
    match counters::read_csv(&String::from_utf8_lossy(&text)) {
        Ok(profile) => counters::compare(&capture, &profile).map_err(failure),
        Err(error) => bail!(Verification, "{shown}: {error}"),
    }
}

fn print(comparison: &Comparison) -> Result<(), Failure> {
    let header = "kernel, class, groups, requests, executed, all lanes off, launches that differ";
    let mut table = plain_table(header.split(", "), false);
    let number = |number: Option<u64>| number.map_or_else(|| "not counted".to_owned(), human_count);
    for (kernel, class, counts, differing) in comparison.by_kernel() {
        let (requests, executed) = (counts.requests, counts.executed);
        if counts.groups + requests.unwrap_or(0) + executed.unwrap_or(0) == 0 {
            continue;
        }
        let off = executed.zip(requests);
        let off = off.map(|(executed, requests)| executed as i64 - requests as i64);
        table.add_row([
            kernel,
            class.to_owned(),
            human_count(counts.groups),
            number(requests),
            number(executed),
            off.map_or_else(String::new, |off| off.to_string()),
            differing.to_string(),
        ]);
    }
    let verdict = match comparison.is_equal() {
        true => "equal",
        false => "DIFFERENT",
    };
    let why = comparison.unmatched.as_deref();
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    let mut lines = table_lines(table, 2);
    lines.push(format!(
        "{verdict} in {} launches{why}",
        comparison.launches.len()
    ));
    terminal::print_lines(&lines)?;
    Ok(())
}
