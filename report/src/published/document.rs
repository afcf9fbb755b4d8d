//! Writes `docs/reproduction.md`, published and measured values as Markdown, and the measured ones as JSON.

use super::measured::Reproduction;
use super::{Agreement, Beside, FIGURES, Line, beside, lines, summary};
use crate::claims::PROGRAMS;
use crate::error::{ReportError, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::RunSummary;
use superstep_table::FileError;

/// Figures with a value for each bin of a distribution. One difference shifts many bins, so the page leaves these
/// values to the run's table.
const BINNED: [&str; 2] = ["6.3", "6.5"];

/// Name of both files, without extension.
const NAME: &str = "reproduction";

/// Writes the page and the measured values into `folder`, and returns the path of the page. All six programs must have
/// passed at the thesis's size.
pub fn write(folder: &Path, run: &RunSummary, measured: &[(String, Metrics)]) -> Result<PathBuf> {
    let unfit = |reason: String| ReportError::Reproduction { reason };
    let Some(reproduction) = Reproduction::of(run, measured) else {
        let found = format!("the run is of suite {}, size {}", run.suite, run.size);
        return Err(unfit(found));
    };
    let passed = |name: &&&str| {
        let mut programs = reproduction.programs.iter();
        !programs.any(|program| program.name == **name && program.passed)
    };
    if let Some(missing) = PROGRAMS.iter().find(passed) {
        let reason = format!("{missing} has not passed there with a trace of the whole program");
        return Err(unfit(reason));
    }
    let json = reproduction
        .to_json()
        .map_err(|error| unfit(error.to_string()))?;
    let page = folder.join(NAME).with_extension("md");
    for (path, text) in [
        (&page.with_extension("json"), json),
        (&page, markdown(&reproduction)),
    ] {
        fs::write(path, text).map_err(FileError::at("write", path))?;
    }
    Ok(page)
}

const OPENING: &str = "\
# Published and measured values of the thesis

Made by a command; do not edit:

```console
$ cargo xtask suite thesis --size thesis
$ superstep report out/thesis/latest --reproduction docs
```

`published` is what [Rieber 2017](references.md#rieber-2017) has behind its figures 6.1 to 6.9
(`suites/thesis/published.json`): outputs stored in its notebooks, and values read off its plots,
which count as *close* within 1 %. `measured` is what the run below found
(`reproduction.json`). The digests of its accesses are those of `golden/thesis/`. Where statements
of the thesis differ, [metrics.md](metrics.md#the-thesiss-statements) says why. Figures 6.2 and 6.6
have no published numbers. The run's table `published` has every value; the list of differences
below leaves out bins (figures 6.3 and 6.5).
";

pub(super) fn markdown(measured: &Reproduction) -> String {
    let rows = beside(measured);
    let mut out = OPENING.to_owned();
    let facts = [
        ("Command", format!("`{}`", measured.command)),
        ("Tool", measured.tool.clone()),
        (
            "Device",
            format!("{} ({} backend)", measured.device, measured.backend),
        ),
        ("Finished", measured.finished.clone()),
    ];
    out.push_str("\n| run | |\n|---|---|\n");
    for (name, value) in facts {
        let _ = writeln!(out, "| {name} | {value} |");
    }
    out.push_str("\n## What agrees\n\n");
    out.push_str("| figure | program | values | equal | close | differ | reason |\n");
    out.push_str("|---|---|--:|--:|--:|--:|---|\n");
    for one in summary(&rows) {
        let values = one.equal + one.close + one.differ;
        let _ = writeln!(
            out,
            "| {} | {} | {values} | {} | {} | {} | {} |",
            one.figure, one.application, one.equal, one.close, one.differ, one.reasons
        );
    }
    differences(&mut out, &rows);
    out
}

fn differences(out: &mut String, rows: &[Beside]) {
    out.push_str("\n## What differs\n\n");
    out.push_str("| figure | program | value | published | measured | difference |\n");
    out.push_str("|---|---|---|--:|--:|--:|\n");
    let figures = FIGURES.iter().filter(|it| !BINNED.contains(&it.0));
    let all = figures.flat_map(|(number, _)| {
        let lines = lines(rows, number).into_iter();
        lines.map(move |line| (number, line))
    });
    for (number, line) in all.filter(|(_, line)| line.agreement == Agreement::Differs) {
        let Line {
            application,
            what,
            published,
            measured,
            difference,
            ..
        } = line;
        let _ = writeln!(
            out,
            "| {number} | {application} | {what} | {published} | {measured} | {difference} |"
        );
    }
}
