//! The first screen of a run's page: how well the run reproduces the thesis, warnings, and a row for each program.

use super::communication::metrics_of;
use super::places::{file_name, flows, place};
use super::{only_program, single, to_section};
use crate::claims::{Claim, Verdict};
use crate::figures::maps;
use crate::figures::numbers::{bytes, percent};
use crate::html::{Cell, DASH, Meaning, counted, description_list, link, table};
use crate::published::{Agreement, Comparison, SIZE, by_program};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::path::Path;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::density::DensityRow;
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};
use superstep_trace::display_name;

/// Maximum number of warnings on the first screen.
const MAX_WARNINGS: usize = 12;

/// Returns the heading: the command of a single program, or the suite.
pub(super) fn title(run: &RunSummary) -> String {
    let (suite, size, backend) = (&run.suite, &run.size, run.backend);
    match only_program(run) {
        Some(program) if program.name == *suite => command(run, &program.name),
        Some(program) => format!(
            "{} of suite {suite}, size {size}, on {backend}",
            program.name
        ),
        None => format!("Suite {suite}, size {size}, on {backend}"),
    }
}

/// Returns a program's file and its arguments, such as `pc.cu -- 16384 4`.
fn command(run: &RunSummary, name: &str) -> String {
    let words = &run.command;
    let end = words.iter().position(|word| word == "--");
    let (options, arguments) = words.split_at(end.unwrap_or(words.len()));
    let is_file = |word: &&String| (Path::new(word).file_stem()).is_some_and(|stem| stem == name);
    let file = options.iter().skip(1).find(is_file);
    let mut words = vec![file.map_or(name, |file| file_name(file))];
    words.extend(arguments.iter().map(String::as_str));
    words.join(" ")
}

/// Describes the status of a program, with its warnings.
pub(super) fn status(benchmark: &BenchmarkSummary) -> (String, Meaning) {
    match (benchmark.status, benchmark.warnings().count()) {
        (Status::Passed, 0) => ("passed".to_owned(), Meaning::Good),
        (Status::Passed, warnings) => {
            let warnings = counted(warnings, "warning");
            (format!("passed, {warnings}"), Meaning::Warning)
        }
        (Status::Failed, _) => match &benchmark.failure {
            Some(failure) => (format!("failed ({})", failure.kind), Meaning::Bad),
            None => ("failed".to_owned(), Meaning::Bad),
        },
        (Status::Skipped, _) => ("skipped".to_owned(), Meaning::Neutral),
    }
}

/// Renders the mark in the table of contents for a program that failed or has warnings.
pub(super) fn mark(benchmark: &BenchmarkSummary) -> Markup {
    match status(benchmark) {
        (_, Meaning::Good) => html! {},
        (text, meaning) => html! { " " span class=(meaning.class()) { (text) } },
    }
}

/// Returns the sentence below the heading: the number of programs with each status, and the device.
pub(super) fn outcome(run: &RunSummary) -> Markup {
    let programs = || run.benchmarks.iter().filter(|it| it.process.is_none());
    let count = |status| programs().filter(|it| it.status == status).count();
    let warned: usize = programs().map(|it| it.warnings().count()).sum();
    let warning = if warned == 1 { "warning" } else { "warnings" };
    let not_compared = programs().filter(|it| it.not_compared().is_some());
    let parts = [
        (count(Status::Passed), "passed", Meaning::Good),
        (count(Status::Failed), "failed", Meaning::Bad),
        (count(Status::Skipped), "skipped", Meaning::Neutral),
        (warned, warning, Meaning::Warning),
        (
            not_compared.count(),
            "not compared with a golden result",
            Meaning::Neutral,
        ),
    ];
    let parts = parts.iter().filter(|(count, ..)| *count > 0);
    html! {
        p {
            (counted(programs().count(), "benchmark"))
            @for (number, (count, what, meaning)) in parts.enumerate() {
                (if number == 0 { ": " } else { ", " }) span class=(meaning.class()) { (count) " " (what) }
            }
            "."
            @if !run.device.is_empty() { " Device: " (run.device) "." }
            @if !run.finished.is_empty() { " Finished " (run.finished) "." }
        }
    }
}

pub(super) fn content(
    run: &RunSummary,
    measured: &[(String, Metrics)],
    rows: &[Comparison],
    claims: &[Claim],
) -> Markup {
    let all: Vec<_> = (run.benchmarks.iter())
        .flat_map(|it| it.warnings().map(move |check| (it, check)))
        .collect();
    let within = run.benchmarks.iter().filter_map(|it| {
        let within = it.within_launch.as_ref()?;
        let words = within.in_words(it.in_situ, |count| bytes(count as f64))?;
        Some((it, words))
    });
    html! {
        (thesis(run, rows, claims))
        @for (benchmark, check) in all.iter().take(MAX_WARNINGS) {
            p.warning { "Warning: " (to_section(benchmark)) ": " (check.detail) }
        }
        @if all.len() > MAX_WARNINGS { p.warning { "The programs' sections contain " (all.len() - MAX_WARNINGS) " more warnings." } }
        @for (benchmark, words) in within {
            p.warning { "Note: " (to_section(benchmark)) ": " (words) }
        }
        @match single(run) {
            Some(benchmark) => (single_findings(benchmark, metrics_of(measured, &benchmark.name))),
            None => div.findings {
                (table("Programs; shares refer to stored bytes (communicated) or loaded bytes (within launches)",
                    run.benchmarks.iter().map(|it| row(it, metrics_of(measured, &it.name)))))
            },
        }
    }
}

/// Summarises how well the run reproduces the thesis's published values and statements.
fn thesis(run: &RunSummary, rows: &[Comparison], claims: &[Claim]) -> Markup {
    let count =
        |counts: fn(Agreement) -> bool| rows.iter().filter(|row| counts(row.agreement)).count();
    let names = |verdict| {
        let found = claims.iter().filter(move |claim| claim.verdict == verdict);
        found.map(|claim| claim.claim.as_str()).collect::<Vec<_>>()
    };
    let (holds, differs) = (names(Verdict::Holds), names(Verdict::Differs));
    if rows.is_empty() && holds.is_empty() && differs.is_empty() {
        return html! {};
    }
    html! {
        div.box {
            @if !rows.is_empty() {
                p {
                    b { "Published values" } " of the thesis: "
                    span.good { (count(|it| it == Agreement::Equal)) " equal, " (count(|it| it == Agreement::Close)) " close" } ", "
                    b { (count(Agreement::is_difference)) " differ" } ". " (link("published", "All values")) "."
                }
                ul {
                    @for row in by_program(rows).iter().filter(|row| row.differ > 0) {
                        li {
                            b { (row.application) } ": " (row.differ) " differ"
                            @if row.unexplained > 0 { ", " span.bad { (row.unexplained) " of them unexplained" } }
                            ": " (row.reasons)
                        }
                    }
                }
            }
            @if !holds.is_empty() || !differs.is_empty() {
                p {
                    b { "Statements" } " of the thesis: " span.good { (holds.len()) " hold" } ", "
                    b { (differs.len()) " do not" }
                    @if !differs.is_empty() { " (" (differs.join(", ")) ")" }
                    @if run.size != SIZE { "; the statements apply to size " code { (SIZE) } }
                    ". " (link("claims", "All statements")) "."
                }
            }
        }
    }
}

/// Returns the findings of a program by name, with a dash for missing ones.
fn found(benchmark: &BenchmarkSummary, metrics: Option<&Metrics>) -> [(&'static str, String); 5] {
    let communicated = benchmark.communication.map(|it| it.share_in_words(percent));
    let within = benchmark.within_launch.as_ref().map(|it| {
        let bound = if benchmark.in_situ { "≥ " } else { "" };
        format!("{bound}{}", percent(it.share()))
    });
    [
        ("Communicated", communicated),
        ("Within launches", within),
        ("Pattern", metrics.and_then(pattern)),
        ("Top array", metrics.and_then(top_array)),
        ("Top line", metrics.and_then(top_line)),
    ]
    .map(|(name, text)| (name, text.unwrap_or(DASH.to_owned())))
}

fn row(benchmark: &BenchmarkSummary, metrics: Option<&Metrics>) -> [(&'static str, Cell); 8] {
    let [communicated, within, pattern, array, line] = found(benchmark, metrics);
    let number = |(name, text)| (name, Cell::Number(text));
    let text = |(name, text)| (name, Cell::Text(text));
    let (status, meaning) = status(benchmark);
    [
        ("Program", Cell::Markup(to_section(benchmark))),
        ("Result", Cell::Word(status, meaning)),
        number(communicated),
        number(within),
        text(pattern),
        text(array),
        text(line),
        ("Map", Cell::Markup(metrics.map(map).unwrap_or_default())),
    ]
}

fn single_findings(benchmark: &BenchmarkSummary, metrics: Option<&Metrics>) -> Markup {
    let found = found(benchmark, metrics).into_iter();
    let facts: Vec<(&str, String)> = found.filter(|(_, text)| text != DASH).collect();
    if facts.is_empty() {
        return html! {};
    }
    html! {
        div.one { (description_list(&facts)) (metrics.map(map).unwrap_or_default()) }
        p.soft { "Communicated: share of the stored bytes. Within launches: share of the loaded bytes." }
    }
}

/// Describes the pattern that accounts for the most bytes, such as "stencil in x and y".
fn pattern(metrics: &Metrics) -> Option<String> {
    let mut sums = BTreeMap::<&str, u64>::new();
    for row in &metrics.patterns {
        *sums.entry(&row.pattern).or_default() += row.bytes;
    }
    let (name, max_bytes) = sums.iter().max_by_key(|(_, bytes)| **bytes)?;
    let mut words = (*name).to_owned();
    let used = metrics.bisection.iter().filter(|row| row.coordinates > 1);
    // In a one-dimensional grid, there is no need to name the dimension.
    if used.clone().count() > 1 {
        let crossed = used.filter(|row| row.crossing_bytes > 0);
        let crossed: Vec<&str> = crossed.map(|row| row.dimension.as_str()).collect();
        let crossed = crossed.join(" and ");
        if !crossed.is_empty() {
            words = format!("{words} in {crossed}");
        }
    }
    let share = *max_bytes as f64 / sums.values().sum::<u64>() as f64;
    if share < 0.99 {
        words = format!("{words} ({} of the received bytes)", unbroken(share));
    }
    Some(words)
}

/// Formats a share in percent, with its sign on the same line.
fn unbroken(share: f64) -> String {
    percent(share).replace(' ', "\u{a0}")
}

fn top_array(metrics: &Metrics) -> Option<String> {
    let top = metrics.arrays.first();
    let top = top.filter(|array| array.received_bytes > 0)?;
    let (name, share) = (display_name(&top.array), unbroken(top.share));
    Some(format!("{name} ({share})"))
}

/// Describes the line that loads the most communicated bytes, and the line that stored them if it is known.
fn top_line(metrics: &Metrics) -> Option<String> {
    if let Some(((writer, reader, _), top)) = flows(metrics).first() {
        let flows = metrics.line_flows.iter();
        let all: u64 = flows.map(|row| row.communicated_loaded_bytes).sum();
        let (reader, writer) = (place(*reader), place(*writer));
        let share = unbroken(top.bytes as f64 / all as f64);
        return Some(format!("{reader} loads what {writer} stored ({share})"));
    }
    let top = metrics.lines.first()?;
    let (place, share) = (place((&top.file, top.line)), unbroken(top.share));
    Some(format!("{place} ({share})"))
}

/// Draws a coarse density map of the whole grid, limited to the range of CTAs that communicate.
fn map(metrics: &Metrics) -> Markup {
    const CELLS: u64 = 48;
    let mut cells = maps::cells(metrics, maps::WHOLE);
    cells.retain(|row| row.count > 0);
    let axis = |cta: fn(&&DensityRow) -> u64| {
        let low = cells.iter().map(cta).min().unwrap_or(0);
        let length = cells.iter().map(cta).max().unwrap_or(0) - low;
        let per_cell = (length + 1).div_ceil(CELLS);
        (low, per_cell, length / per_cell + 1)
    };
    let (left, per_column, width) = axis(|row| row.source);
    let (bottom, per_row, height) = axis(|row| row.receiver);
    let mut counts = BTreeMap::<(u64, u64), u64>::new();
    for cell in cells {
        // Receiver indices increase upwards.
        let row = height - 1 - (cell.receiver - bottom) / per_row;
        let column = (cell.source - left) / per_column;
        *counts.entry((row, column)).or_default() += cell.count;
    }
    let Some(max) = counts.values().max().copied() else {
        return html! {};
    };
    let mut paths = BTreeMap::<usize, String>::new();
    let level = |count| maps::level(count, max);
    let counts: Vec<_> = counts.into_iter().collect();
    // Adjacent cells of a row with the same shade are drawn as one rectangle.
    let same_shade = |a: &((u64, u64), u64), b: &((u64, u64), u64)| {
        a.0.0 == b.0.0 && a.0.1 + 1 == b.0.1 && level(a.1) == level(b.1)
    };
    for run in counts.chunk_by(same_shade) {
        let (((y, x), count), length) = (run[0], run.len());
        *paths.entry(level(count)).or_default() += &format!("M{x} {y}h{length}v1h-{length}z");
    }
    let label = "Density map: receiving CTAs upwards, source CTAs to the right; darker cells have more reads";
    html! {
        svg.map viewBox={ "0 0 " (width) " " (height) } preserveAspectRatio="none" shape-rendering="crispEdges" role="img" {
            title { (label) }
            @for (level, path) in &paths {
                path d=(path) fill-opacity={ (40 + 12 * level) "%" } {}
            }
        }
    }
}
