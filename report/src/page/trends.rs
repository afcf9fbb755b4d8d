//! Many runs, night by night: what tracing cost, how large captures were, how fast they were analysed.

use super::communication::embed;
use crate::error::Result;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::numbers::count;
use crate::figures::{self, escape, palette};
use crate::html::{Cell, DASH, contents, document, id, section, table};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};
use superstep_table::{FileError, Table, table};

table! {
    /// A program in one run, or all of them.
    struct TrendRow = "trend" {
        suite: String = "suite of the run";
        size: String = "size preset of the run";
        device: String = "device of the run";
        run: u64 = "number of the run in the order of their starts, from 0";
        started: String = "start of the run, UTC";
        program: String = "name in the manifest, or `all programs`: the geometric mean";
        value: f64 = "what the figure shows";
    }
}

/// Runs that can be compared: suite, size, device, whether in situ; in the order of their starts.
type Groups<'a> = BTreeMap<(&'a str, &'a str, &'a str, bool), Vec<&'a RunSummary>>;

struct Quantity {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    label: &'static str,
    of: fn(&BenchmarkSummary) -> Option<f64>,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        name: "trend-slowdown",
        title: "Slowdown",
        description: "Time of the traced program's kernels over that of the untraced one's, run by run.",
        label: "traced / untraced",
        of: |program| {
            ratio(
                program.seconds.traced_kernel?,
                program.seconds.native_kernel?,
            )
        },
    },
    Quantity {
        name: "trend-capture",
        title: "Size of captures",
        description: "Bytes of the capture's files for each access of a thread, run by run.",
        label: "bytes an access",
        of: |program| ratio(program.capture_bytes? as f64, accesses(program)?),
    },
    Quantity {
        name: "trend-analysis",
        title: "Speed of the analysis",
        description: "Accesses of threads that the analysis went through in a second, run by run.",
        label: "accesses a second",
        of: |program| ratio(accesses(program)?, program.seconds.analysis?),
    },
];

/// A program that nothing is wrong with, and of which everything was recorded.
fn counts(program: &BenchmarkSummary) -> bool {
    program.status == Status::Passed && program.selection.is_none()
}

fn accesses(program: &BenchmarkSummary) -> Option<f64> {
    let threads = program.threads?;
    Some((threads.loads + threads.stores + threads.atomics) as f64)
}

/// `None` where it has no meaning; numbers come from files.
fn ratio(above: f64, below: f64) -> Option<f64> {
    let ratio = above / below;
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    (!logarithms.is_empty()).then(|| mean.exp())
}

impl Quantity {
    fn values(&self, run: &RunSummary) -> impl Iterator<Item = (String, f64)> {
        let programs = run.benchmarks.iter().filter(|program| counts(program));
        programs.filter_map(|program| Some((program.name.clone(), (self.of)(program)?)))
    }

    fn mean(&self, run: &RunSummary) -> Option<f64> {
        mean(self.values(run).map(|(_, value)| value))
    }

    /// A plot of all programs, and one of each.
    fn figure(&self, runs: &[&RunSummary]) -> Multiples {
        const ALL: &str = "all programs";
        let mut lines: Vec<(String, Vec<(u64, f64)>)> = vec![(ALL.to_owned(), Vec::new())];
        for (number, run) in (0..).zip(runs) {
            lines[0].1.extend(self.mean(run).map(|mean| (number, mean)));
            for (program, value) in self.values(run) {
                // The first line has no name that a program could take.
                match lines[1..].iter_mut().find(|(name, _)| *name == program) {
                    Some((_, line)) => line.push((number, value)),
                    None => lines.push((program, vec![(number, value)])),
                }
            }
        }
        lines.retain(|(_, line)| !line.is_empty());
        let rows = lines.iter().flat_map(|(program, line)| {
            line.iter().map(|&(number, value)| {
                let run = runs[number as usize];
                TrendRow {
                    suite: run.suite.clone(),
                    size: run.size.clone(),
                    device: run.device.clone(),
                    run: number,
                    started: run.started.clone(),
                    program: program.clone(),
                    value,
                }
            })
        });
        let table = Table::of(&rows.collect::<Vec<_>>());
        let plots = lines.into_iter().map(|(title, line)| {
            let points = line
                .iter()
                .map(|&(number, value)| (number as f64 + 0.5, value));
            let points: Vec<(f64, f64)> = points.collect();
            let max = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            let mut marks: Vec<Mark> = (points.iter())
                .map(|&point| Mark::Point(point, palette::BLUE))
                .collect();
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
        let legend = [("run", palette::BLUE)];
        Multiples::new(
            self.name,
            self.title,
            self.description,
            &legend,
            plots,
            table,
        )
    }
}

fn groups(runs: &[RunSummary]) -> Groups<'_> {
    let mut groups = Groups::new();
    for run in runs {
        let in_situ = run.benchmarks.iter().any(|program| program.in_situ);
        let key = (&*run.suite, &*run.size, &*run.device, in_situ);
        groups.entry(key).or_default().push(run);
    }
    for group in groups.values_mut() {
        group.sort_by_key(|run| &run.started);
    }
    groups
}

/// Writes `index.html` into `folder`, which is created, and the figures with their tables. Returns the path of the page.
pub fn write(folder: &Path, runs: &[RunSummary]) -> Result<PathBuf> {
    let groups = groups(runs);
    let (mut header, mut out) = (String::new(), String::new());
    let headings = groups.keys().map(|(suite, size, device, in_situ)| {
        let how = if *in_situ { ", in situ" } else { "" };
        format!("{suite}, size {size}, {device}{how}")
    });
    let headings: Vec<String> = headings.collect();
    let parts = (0..)
        .zip(&headings)
        .map(|(number, heading)| (part(number), heading.clone()));
    contents(&mut header, parts);
    for (number, (group, heading)) in (0..).zip(groups.values().zip(&headings)) {
        section(&mut out, &part(number), &escape(heading));
        nights(&mut out, heading, group);
        for quantity in &QUANTITIES {
            let figure = quantity.figure(group);
            if !figure.plots.is_empty() {
                // Names come from files, and are no names of folders.
                figures::write(&figure, &folder.join("figures").join(number.to_string()))?;
                embed(&mut out, &figure, &id(figure.name, &number.to_string()))?;
            }
        }
        out.push_str("</section>\n");
    }
    fs::create_dir_all(folder).map_err(FileError::at("create", folder))?;
    let path = folder.join("index.html");
    let title = format!("Trends of {} runs", runs.len());
    let page = document(&title, &header, &out);
    fs::write(&path, page).map_err(FileError::at("write", &path))?;
    Ok(path)
}

fn part(number: u64) -> String {
    id("suite", &number.to_string())
}

/// The runs of a group with their means.
fn nights(out: &mut String, heading: &str, runs: &[&RunSummary]) {
    let rows = (0..).zip(runs).map(|(number, run): (u64, _)| {
        let passed = run
            .benchmarks
            .iter()
            .filter(|one| one.status == Status::Passed)
            .count();
        let [slowdown, capture, analysis] = QUANTITIES.each_ref().map(|quantity| {
            let mean = quantity.mean(run);
            Cell::Number(mean.map_or(DASH.to_owned(), three_digits))
        });
        [
            ("Run", Cell::Number(number.to_string())),
            ("Started", Cell::Text(run.started.clone())),
            ("Tool", Cell::Text(run.tool.clone())),
            (
                "Passed",
                Cell::Number(format!("{passed} of {}", run.benchmarks.len())),
            ),
            ("Slowdown", slowdown),
            ("Bytes an access", capture),
            ("Analysed accesses a second", analysis),
        ]
    });
    let caption = format!("Runs of {heading}: geometric means over the programs that passed");
    table(out, &caption, rows);
}

fn three_digits(value: f64) -> String {
    match value < 1000.0 {
        true => format!("{value:.2}"),
        false => count(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep_analysis::run_summary::{Seconds, ThreadCounts};

    const EVIL: &str = "../../<script>alert('&')</script>";

    fn program(name: &str, traced: f64) -> BenchmarkSummary {
        BenchmarkSummary {
            name: name.to_owned(),
            status: Status::Passed,
            capture_bytes: Some(300),
            threads: Some(ThreadCounts {
                loads: 100,
                stores: 40,
                atomics: 10,
            }),
            seconds: Seconds {
                native_kernel: Some(1.0),
                traced_kernel: Some(traced),
                analysis: Some(0.5),
                ..Seconds::default()
            },
            ..BenchmarkSummary::default()
        }
    }

    fn night(day: u32, suite: &str, benchmarks: Vec<BenchmarkSummary>) -> RunSummary {
        RunSummary {
            suite: suite.to_owned(),
            size: "small".to_owned(),
            device: "a GPU".to_owned(),
            started: format!("2026-11-{day:02}T02:17:00Z"),
            benchmarks,
            ..RunSummary::default()
        }
    }

    #[test]
    fn runs_of_a_suite_are_a_line_in_the_order_of_their_starts() {
        let failed = BenchmarkSummary {
            status: Status::Failed,
            ..program("b", 9.0)
        };
        let runs = [
            night(3, "thesis", vec![program("a", 3.0), failed]),
            night(1, "thesis", vec![program("a", 2.0), program("b", 8.0)]),
            night(2, "thesis", vec![]),
            night(1, "rodinia", vec![program("a", 7.0)]),
        ];
        let groups = groups(&runs);
        assert_eq!(groups.len(), 2, "suites are not mixed");
        let thesis = &groups[&("thesis", "small", "a GPU", false)];
        let [slowdown, capture, analysis] = QUANTITIES.each_ref().map(|it| it.figure(thesis));
        let lines = |figure: &Multiples| -> Vec<(String, Vec<(f64, f64)>)> {
            let points = |plot: &Plot| {
                let points = plot.marks.iter().filter_map(|mark| match mark {
                    Mark::Point(point, _) => Some(*point),
                    _ => None,
                });
                (plot.title.clone(), points.collect())
            };
            figure.plots.iter().map(points).collect()
        };
        let found = lines(&slowdown);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["all programs", "a", "b"]);
        assert_eq!(found[1].1, [(0.5, 2.0), (2.5, 3.0)]);
        assert_eq!(found[2].1, [(0.5, 8.0)], "what failed has no value");
        let (mean, last) = (found[0].1[0].1, found[0].1[1]);
        assert!((mean - 4.0).abs() < 1e-9, "{mean}");
        assert!(last.0 == 2.5 && (last.1 - 3.0).abs() < 1e-9);
        assert_eq!(lines(&capture)[1].1[0].1, 2.0);
        assert_eq!(lines(&analysis)[1].1[0].1, 300.0);
    }

    #[test]
    fn a_page_is_written_and_names_from_files_are_text() {
        let folder = tempfile::tempdir().unwrap();
        let evil = night(1, EVIL, vec![program(EVIL, f64::NAN)]);
        let runs = [
            night(1, "thesis", vec![program("a", 2.0)]),
            night(2, "thesis", vec![program("a", 3.0)]),
            RunSummary {
                device: EVIL.to_owned(),
                started: EVIL.to_owned(),
                tool: EVIL.to_owned(),
                ..evil
            },
        ];
        let out = folder.path().join("trends");
        let page = fs::read_to_string(write(&out, &runs).unwrap()).unwrap();
        assert!(!page.contains("<script"), "{page}");
        assert!(page.contains("Trends of 3 runs"));
        assert_eq!(
            page.matches("<svg").count(),
            3 + 2,
            "a slowdown that is no number has no figure"
        );
        let csv = fs::read_to_string(out.join("figures/1/trend-slowdown.csv")).unwrap();
        assert!(csv.contains("2026-11-02T02:17:00Z,a,3"), "{csv}");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn runs_without_programs_are_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), &[night(1, "thesis", vec![])]).unwrap();
        let page = fs::read_to_string(path).unwrap();
        assert!(page.contains("0 of 0") && !page.contains("<svg"), "{page}");
    }
}
