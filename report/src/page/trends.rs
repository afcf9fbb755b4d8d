//! Trends over many runs: cost of tracing, size of captures, speed of the analysis.

use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::numbers::{count, geometric_mean};
use crate::figures::{self, palette};
use crate::html::{self, Cell, DASH, contents, document, id, link, section};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};
use superstep_table::FileError;

superstep_table::table_from! {
    /// A program, or all programs, in one run.
    fn table<'a>((program, number, run, value), (&'a str, u64, &'a RunSummary, f64)) = "trend" {
        suite: String = "suite of the run" => run.suite.clone();
        size: String = "size preset of the run" => run.size.clone();
        device: String = "device of the run" => run.device.clone();
        run: u64 = "index of the run in order of start time, from 0" => number;
        started: String = "start of the run, UTC" => run.started.clone();
        program: String = "name in the manifest, or `all programs`: the geometric mean" => program.to_owned();
        value: f64 = "value that the figure shows" => value;
    }
}

struct Quantity {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    label: &'static str,
    value: fn(&BenchmarkSummary) -> Option<f64>,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        name: "trend-slowdown",
        title: "Slowdown",
        description: "Kernel time of the traced program divided by kernel time of the untraced one, for each run.",
        label: "traced / untraced",
        value: |program| {
            let seconds = program.seconds;
            ratio(seconds.traced_kernel?, seconds.native_kernel?)
        },
    },
    Quantity {
        name: "trend-capture",
        title: "Capture size",
        description: "Bytes in the capture's files per thread access, for each run.",
        label: "bytes per access",
        value: |program| ratio(program.capture_bytes? as f64, accesses(program)?),
    },
    Quantity {
        name: "trend-analysis",
        title: "Analysis speed",
        description: "Thread accesses that the analysis processed per second, for each run.",
        label: "accesses per second",
        value: |program| ratio(accesses(program)?, program.seconds.analysis?),
    },
];

fn accesses(program: &BenchmarkSummary) -> Option<f64> {
    let threads = program.threads?;
    Some((threads.loads + threads.stores + threads.atomics) as f64)
}

/// Returns the ratio, or `None` if the values read from the files make it meaningless.
fn ratio(above: f64, below: f64) -> Option<f64> {
    let ratio = above / below;
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

impl Quantity {
    /// Returns the values of the programs that passed and were recorded completely.
    fn values(&self, run: &RunSummary) -> Vec<(String, f64)> {
        let programs = (run.benchmarks.iter())
            .filter(|program| program.status == Status::Passed && program.selection.is_none());
        let values =
            programs.filter_map(|program| Some((program.name.clone(), (self.value)(program)?)));
        values.collect()
    }

    fn mean(&self, run: &RunSummary) -> Option<f64> {
        let values = self.values(run).into_iter();
        geometric_mean(values.map(|(_, value)| value))
    }

    /// Draws one plot for the mean over all programs and one for each program.
    fn figure(&self, runs: &[&RunSummary]) -> Multiples {
        const ALL: &str = "all programs";
        let mut lines: Vec<(String, Vec<(u64, f64)>)> = vec![(ALL.to_owned(), Vec::new())];
        for (number, run) in (0..).zip(runs) {
            lines[0].1.extend(self.mean(run).map(|mean| (number, mean)));
            for (program, value) in self.values(run) {
                // Skip the first line, since a program might be called `all programs`.
                match lines[1..].iter_mut().find(|(name, _)| *name == program) {
                    Some((_, line)) => line.push((number, value)),
                    None => lines.push((program, vec![(number, value)])),
                }
            }
        }
        lines.retain(|(_, line)| !line.is_empty());
        let rows = lines.iter().flat_map(|(program, line)| {
            let row = |&(number, value)| (&**program, number, runs[number as usize], value);
            line.iter().map(row)
        });
        let table = table(rows);
        let plots = lines.into_iter().map(|(title, line)| {
            let points = line.iter().map(|&(run, value)| (run as f64 + 0.5, value));
            let points: Vec<(f64, f64)> = points.collect();
            let max = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            let dots = points.iter().map(|&at| Mark::Point(at, palette::BLUE));
            let mut marks: Vec<Mark> = dots.collect();
            if points.len() > 1 {
                marks.push(Mark::Line(points, 1.5, palette::BLUE));
            }
            Plot {
                title,
                x: Scale::numbers(runs.len() as u64, "run"),
                y: Scale::linear(max, self.label, count),
                marks,
                ..Plot::default()
            }
        });
        let plots = plots.collect();
        Multiples::new(self.name, self.title, self.description, &[], plots, table)
    }
}

/// Groups comparable runs (same suite, size, device and kind: traced or in situ) by heading, ordered by start time.
fn groups(runs: &[RunSummary]) -> BTreeMap<String, Vec<&RunSummary>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for run in runs {
        let is_in_situ = run.benchmarks.iter().any(|program| program.in_situ);
        let kind = if is_in_situ { ", in situ" } else { "" };
        let heading = format!("{}, size {}, {}{kind}", run.suite, run.size, run.device);
        groups.entry(heading).or_default().push(run);
    }
    for group in groups.values_mut() {
        group.sort_by_key(|run| &run.started);
    }
    groups
}

/// Creates `folder` and writes `index.html` and the figures with their tables into it. Returns the path of the page.
pub fn write(folder: &Path, runs: &[RunSummary]) -> Result<PathBuf> {
    let (mut entries, mut sections) = (Vec::new(), Vec::new());
    for (number, (heading, group)) in groups(runs).into_iter().enumerate() {
        // Names come from files and are not safe as folder names.
        let number = number.to_string();
        let mut drawings = Vec::new();
        for quantity in &QUANTITIES {
            let figure = quantity.figure(&group);
            if !figure.plots.is_empty() {
                figures::write(&figure, &folder.join("figures").join(&number))?;
                drawings.push(figures::markup(&figure, &id(figure.name, &number))?);
            }
        }
        let content = html! { (summary(&heading, &group)) @for drawing in drawings { (drawing) } };
        let part = id("suite", &number);
        sections.push(section(&part, &heading, &content));
        entries.push(link(&part, &heading));
    }
    fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
    let path = folder.join("index.html");
    let title = format!("Trends of {} runs", runs.len());
    let header = contents(entries);
    let main = html! { @for section in sections { (section) } };
    let page = document(&title, &header, &main);
    fs::write(&path, page).map_err(FileError::at("write", &path))?;
    Ok(path)
}

fn summary(heading: &str, runs: &[&RunSummary]) -> Markup {
    let rows = (0..).zip(runs).map(|(number, run): (u64, _)| {
        let passed = run.benchmarks.iter();
        let passed = passed.filter(|it| it.status == Status::Passed).count();
        let passed = format!("{passed} of {}", run.benchmarks.len());
        let [slowdown, capture, analysis] = QUANTITIES.each_ref().map(|quantity| {
            let mean = quantity.mean(run);
            Cell::Number(mean.map_or(DASH.to_owned(), count))
        });
        [
            ("Run", Cell::Number(number.to_string())),
            ("Started", Cell::Text(run.started.clone())),
            ("Tool", Cell::Text(run.tool.clone())),
            ("Passed", Cell::Number(passed)),
            ("Slowdown", slowdown),
            ("Bytes per access", capture),
            ("Analysed accesses per second", analysis),
        ]
    });
    let caption = format!("Runs of {heading}: geometric means over the programs that passed");
    html::table(&caption, rows)
}

#[cfg(test)]
mod tests;
