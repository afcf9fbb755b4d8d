//! Formats the costs of a probe.

use std::path::Path;

use superstep_report::figures::numbers::geometric_mean;
use superstep_report::probes::ProbedBenchmark;
use superstep_trace::Backend;

use super::ProbeRun;
use crate::results::{plain_table, table_lines, time_ratio};

pub fn run_text(folder: &Path, run: &ProbeRun, study: &str) -> String {
    let costs = run_table(run);
    format!("{study}\n\n{costs}\nresults: {}", folder.display())
}

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
        let (total, kernel) = (total(record), kernel(run, record));
        let times = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |r| format!("{r:.2}x"));
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
        0 => format!("warning: {name} launches no kernel; nothing was measured"),
        launches => format!(
            "warning: {name}: nothing was measured in its launches ({launches}): their kernels have none of the places that the \
             probe names, or are left out by `kernels` in its YAML file or by this command's options for choosing launches"
        ),
    })
}

/// Returns a sentence with the geometric means of the costs, or `None` if no times are comparable.
pub fn means(run: &ProbeRun) -> Option<String> {
    let mean = |what, ratio: &dyn Fn(&ProbedBenchmark) -> Option<f64>| {
        let passed = run.benchmarks.iter().filter(|row| row.failure.is_none());
        let ratios: Vec<f64> = passed.filter_map(ratio).collect();
        let programs = ratios.len();
        let mean = geometric_mean(ratios)?;
        Some(format!("{mean:.2}x the {what} over {programs} programs"))
    };
    let kernels = |record: &ProbedBenchmark| kernel(run, record);
    let means = [mean("wall time", &total), mean("kernel time", &kernels)];
    let means: Vec<String> = means.into_iter().flatten().collect();
    (!means.is_empty()).then(|| {
        let (probe, device, backend) = (&run.probe, &run.device, &run.backend);
        let means = means.join(", ");
        format!("{probe} on {device} ({backend}): geometric means: {means}")
    })
}

fn total(record: &ProbedBenchmark) -> Option<f64> {
    time_ratio(record.native_s, record.probed_s)
}

/// Returns the slowdown of the kernels. A GPU's clock also measures short times accurately.
fn kernel(run: &ProbeRun, record: &ProbedBenchmark) -> Option<f64> {
    let (native, probed) = (record.native_kernel_ms / 1e3, record.probed_kernel_ms / 1e3);
    match run.backend == Backend::Cuda.to_string() && native > 0.0 {
        true => Some(probed / native),
        false => time_ratio(native, probed),
    }
}

#[cfg(test)]
mod tests;
