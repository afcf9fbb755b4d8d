//! Notes below the table on the terminal: partial captures, estimates, warnings.

use std::collections::BTreeMap;

use superstep_analysis::run_summary::{
    BenchmarkSummary, EstimatedTotal, NotCompared, RunSummary, SelectionSummary,
};
use superstep_trace::SampleUnit;

use super::{human_bytes, human_count};

pub fn partial_notes(summary: &RunSummary) -> Vec<String> {
    let mut lines = Vec::new();
    // Each process has its own estimates.
    let each =
        summary
            .benchmarks
            .iter()
            .flat_map(|benchmark| match benchmark.processes.is_empty() {
                true => std::slice::from_ref(benchmark),
                false => &benchmark.processes,
            });
    for benchmark in each {
        let Some(selection) = &benchmark.selection else {
            continue;
        };
        lines.push(format!(
            "{}: {}; counts, bytes and communication above are for this part only",
            benchmark.name,
            selection.in_words()
        ));
        lines.extend(estimates(selection));
    }
    lines
}

pub fn in_situ_notes(summary: &RunSummary) -> Option<String> {
    let named = |one: &BenchmarkSummary| match one.cta_blocks {
        blocks if blocks.are_ctas() => one.name.clone(),
        blocks => format!("{} (transfers between {blocks})", one.name),
    };
    let in_situ = summary.benchmarks.iter().filter(|one| one.in_situ);
    let names: Vec<String> = in_situ.map(named).collect();
    (!names.is_empty()).then(|| {
        format!(
            "in situ, added up while kernels ran, without a trace: {}; numbers are exact unless bounds are given, which the table \
             `bounds` lists by launch",
            names.join(", ")
        )
    })
}

pub fn warnings(summary: &RunSummary) -> Vec<String> {
    let of = |benchmark: &BenchmarkSummary| {
        let checks = benchmark.verification.iter().filter(|check| check.warning);
        let lines = checks.map(|check| format!("warning: {}: {}", benchmark.name, check.detail));
        lines.collect::<Vec<_>>()
    };
    summary.benchmarks.iter().flat_map(of).collect()
}

/// Returns a line for each benchmark whose CTAs exchange a notable part of the loaded bytes within launches.
pub fn within_launch_notes(summary: &RunSummary) -> Vec<String> {
    let of = |benchmark: &BenchmarkSummary| {
        let within = benchmark.within_launch.as_ref()?;
        let words = within.in_words(benchmark.in_situ, human_bytes)?;
        Some(format!("note: {}: {words}", benchmark.name))
    };
    summary.benchmarks.iter().filter_map(of).collect()
}

/// Returns a line for each reason why benchmarks were not compared with golden results.
pub fn not_compared(summary: &RunSummary) -> Vec<String> {
    let mut names = BTreeMap::<NotCompared, Vec<&str>>::new();
    for benchmark in &summary.benchmarks {
        if let Some(why) = benchmark.not_compared() {
            names.entry(why).or_default().push(&benchmark.name);
        }
    }
    let line = |(why, names): (NotCompared, Vec<&str>)| {
        let names = names.join(", ");
        format!("not compared with a golden result ({why}): {names}")
    };
    names.into_iter().map(line).collect()
}

fn estimates(selection: &SelectionSummary) -> Vec<String> {
    let Some(sample) = selection.selection.sample else {
        return Vec::new();
    };
    let unit = match sample.unit {
        SampleUnit::Launches => "launches",
        SampleUnit::Ctas => "CTAs",
    };
    let totals = match &selection.no_estimates {
        Some(why) => format!("no estimated totals: {why}"),
        None => "estimated totals over the scope:".to_owned(),
    };
    let mut lines = vec![format!(
        "  sample of {unit}: rate {}, seed {}, scale factor {:.3}; {totals}",
        sample.rate(),
        sample.seed,
        selection.scale_factor
    )];
    let totals = selection.estimates.iter();
    lines.extend(totals.filter(|total| total.kernel.is_none()).map(line));
    lines
}

fn line(total: &EstimatedTotal) -> String {
    let estimate = &total.estimate;
    let whole = |value: f64| human_count(value.round() as u64);
    let quantity = total.quantity.replace('_', " ");
    let value = match (
        estimate.total,
        estimate.standard_error.zip(estimate.interval),
    ) {
        (None, _) => "unknown: some launches or grids have no samples".to_owned(),
        (Some(value), Some((error, interval))) => {
            let share = 100.0 * error / value.max(1.0);
            let (value, [low, high]) = (whole(value), interval.map(whole));
            format!("{value} (standard error {share:.2} %; 95 % interval {low} to {high})")
        }
        (Some(value), None) => {
            format!("{} (error unknown: too few samples)", whole(value))
        }
    };
    format!("    {quantity}: {value}")
}

#[cfg(test)]
mod tests;
