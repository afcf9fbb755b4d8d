//! Formats the costs of a probe.

use std::path::Path;

use superstep_report::probes::Cost;

use super::ProbeRun;
use super::run::ProbedBenchmark;
use crate::results::{geometric_mean, plain_table, table_lines};

pub fn run_text(folder: &Path, run: &ProbeRun, study: &str) -> String {
    format!(
        "{study}\n\n{}\nresults: {}",
        run_table(run),
        folder.display()
    )
}

/// Shortest time without the probe for which a ratio is printed; shorter ones vary too much.
const SHORTEST_S: f64 = 0.05;

/// Formats a line of launches and times per program, with the geometric means below.
fn run_table(run: &ProbeRun) -> String {
    let header = [
        "program", "launches", "native", "kernels", "probed", "kernels", "total", "kernels",
    ];
    let mut table = plain_table(header, false);
    for record in &run.benchmarks {
        if record.failure.is_some() {
            table.add_row([record.name.as_str(), "failed"]);
            continue;
        }
        let ratio = |after: f64, before_s: f64| (before_s >= SHORTEST_S).then(|| after / before_s);
        let total = ratio(record.probed_s, record.native_s);
        let kernel = ratio(record.probed_kernel_ms / 1e3, record.native_kernel_ms / 1e3);
        let times = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |r| format!("{r:.2}x"));
        table.add_row([
            record.name.clone(),
            record.launches.to_string(),
            format!("{:.3} s", record.native_s),
            format!("{:.3} ms", record.native_kernel_ms),
            format!("{:.3} s", record.probed_s),
            format!("{:.3} ms", record.probed_kernel_ms),
            times(total),
            times(kernel),
        ]);
    }
    let mut lines = table_lines(table, 1);
    lines.extend(means(run));
    lines.extend(run.benchmarks.iter().filter_map(nothing_measured));
    lines.join("\n")
}

fn nothing_measured(record: &ProbedBenchmark) -> Option<String> {
    let name = &record.name;
    (record.failure.is_none() && record.probed_launches == Some(0)).then(|| match record.launches {
        0 => format!("warning: {name} launches no kernel: nothing was measured"),
        launches => format!(
            "warning: {name}: nothing was measured in its launches ({launches}): their kernels have none of the places that the probe names, or are left out by \
             `kernels` in its YAML file or by the options of this command that choose launches"
        ),
    })
}

/// Returns a sentence with the geometric means of the costs, or `None` without times.
pub fn means(run: &ProbeRun) -> Option<String> {
    let passed = costs(run);
    let ratios = |times: fn(&Cost) -> [f64; 2]| -> Vec<f64> {
        let times = passed.iter().map(times);
        let measured = times.filter(|[before, _]| *before >= SHORTEST_S);
        measured.map(|[before, after]| after / before).collect()
    };
    let totals = ratios(|cost| cost.total_s);
    let kernels = ratios(|cost| cost.kernels_ms.map(|ms| ms / 1e3));
    let programs = kernels.len();
    let (total, kernel) = (geometric_mean(totals)?, geometric_mean(kernels)?);
    Some(format!(
        "{} on {} ({}): geometric means over {programs} programs: {total:.2}x the wall time, {kernel:.2}x the kernel time",
        run.probe, run.device, run.backend,
    ))
}

pub fn costs(run: &ProbeRun) -> Vec<Cost> {
    let passed = run.benchmarks.iter().filter(|row| row.failure.is_none());
    passed
        .map(|row| Cost {
            program: row.name.clone(),
            launches: row.launches,
            total_s: [row.native_s, row.probed_s],
            kernels_ms: [row.native_kernel_ms, row.probed_kernel_ms],
        })
        .collect()
}

#[cfg(test)]
mod tests;
