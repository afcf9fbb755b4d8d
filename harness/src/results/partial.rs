//! Notes that the terminal shows below the numbers: partial captures, estimates and warnings.

use superstep_analysis::run_summary::{
    BenchmarkSummary, EstimatedTotal, RunSummary, SelectionSummary,
};
use superstep_trace::SampleUnit;

use super::{human_bytes, human_count};

/// Returns the notes about a benchmark, each with its label; warnings are last.
pub fn notes(benchmark: &BenchmarkSummary) -> Vec<(&'static str, String)> {
    let mut notes = Vec::from_iter(partial(benchmark, ""));
    for process in &benchmark.processes {
        notes.extend(partial(process, &format!("{}: ", process.name)));
    }
    if benchmark.in_situ {
        let blocks = match benchmark.cta_blocks {
            blocks if blocks.is_single_cta() => String::new(),
            blocks => format!(" (transfers between {blocks})"),
        };
        notes.push(format!(
            "in situ{blocks}, added up while kernels ran, without a trace; numbers are exact unless bounds are given; the table \
             `bounds` lists them by launch"
        ));
    }
    let not_compared = benchmark.not_compared();
    notes.extend(not_compared.map(|why| format!("not compared: {why}")));
    let within = benchmark.within_launch.as_ref();
    notes.extend(within.and_then(|it| it.in_words(benchmark.in_situ, human_bytes)));
    let notes = notes.into_iter().map(|text| ("note", text));
    let warnings = benchmark
        .warnings()
        .map(|it| ("warning", it.detail.clone()));
    notes.chain(warnings).collect()
}

/// Returns a line for each note, with the benchmarks that it applies to.
pub fn note_lines(summary: &RunSummary) -> Vec<String> {
    let mut all: Vec<((&str, String), Vec<&str>)> = Vec::new();
    for benchmark in &summary.benchmarks {
        for note in notes(benchmark) {
            match all.iter_mut().find(|(other, _)| *other == note) {
                Some((_, names)) => names.push(&benchmark.name),
                None => all.push((note, vec![&benchmark.name])),
            }
        }
    }
    all.sort_by_key(|((label, _), _)| *label);
    let line =
        |((label, text), names): &(_, Vec<&str>)| format!("{label}: {}: {text}", names.join(", "));
    all.iter().map(line).collect()
}

/// Describes a partial capture. If there are multiple processes, each has its own estimates.
fn partial(benchmark: &BenchmarkSummary, name: &str) -> Option<String> {
    let selection = benchmark.selection.as_ref();
    let selection = selection.filter(|_| benchmark.processes.is_empty())?;
    let mut lines = vec![format!(
        "{name}{}; counts, bytes and communication cover only this part and exclude reads of bytes that other launches or \
         CTAs stored",
        selection.in_words()
    )];
    lines.extend(estimates(selection));
    Some(lines.join("\n"))
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
    let rounded = |value: f64| human_count(value.round() as u64);
    let quantity = total.quantity.replace('_', " ");
    let value = match (
        estimate.total,
        estimate.standard_error.zip(estimate.interval),
    ) {
        (None, _) => "unknown: some launches or grids have no samples".to_owned(),
        (Some(value), Some((error, interval))) => {
            let share = 100.0 * error / value.max(1.0);
            let (value, [low, high]) = (rounded(value), interval.map(rounded));
            format!("{value} (standard error {share:.2} %; 95 % CI {low} to {high})")
        }
        (Some(value), None) => {
            format!("{} (error unknown: too few samples)", rounded(value))
        }
    };
    format!("    {quantity}: {value}")
}

#[cfg(test)]
mod tests;
