//! The section of one benchmark.

use super::communication::from_benchmark;
use super::{front, seconds};
use crate::error::Result;
use crate::figures::numbers::{bytes, percent};
use crate::html::{Cell, Meaning, description_list, fold, grouped, table};
use maud::{Markup, html};
use std::path::Path;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::{
    BenchmarkSummary, Check, OpaqueSummary, Reproducibility, SelectionSummary,
};

pub(super) fn heading(benchmark: &BenchmarkSummary) -> Markup {
    html! {
        (benchmark.title)
        @if benchmark.title != benchmark.name { " " span.soft { (benchmark.name) } }
        (front::mark(benchmark))
    }
}

pub(super) fn content(
    benchmark: &BenchmarkSummary,
    metrics: Option<&Metrics>,
    is_single: bool,
    folder: &Path,
) -> Result<Markup> {
    let name = &benchmark.name;
    Ok(html! {
        (facts(benchmark))
        @if !benchmark.kernels.is_empty() { (kernels(benchmark)) }
        @if let Some(opaque) = &benchmark.opaque { (opaque_kernels(name, opaque)) }
        @if let Some(metrics) = metrics { (from_benchmark(name, metrics, is_single, folder)?) }
        @if !benchmark.verification.is_empty() { (checks(benchmark)) }
        @if benchmark.seconds != Default::default() { (durations(benchmark)) }
    })
}

fn facts(benchmark: &BenchmarkSummary) -> Markup {
    let mut facts = vec![("Result", front::status(benchmark).0)];
    if let Some(selection) = &benchmark.selection {
        let words = selection.in_words();
        let note = "all numbers, figures and tables describe this part only";
        facts.push(("Recorded", format!("{words}; {note}")));
        facts.extend(estimates(selection));
    }
    if benchmark.in_situ {
        let note = "in situ: accesses were added up while kernels ran, without a trace. Strides (figure 6.5), arrays, source lines, footprints, access widths \
             and digests need a trace";
        facts.push(("Recorded", note.to_owned()));
    }
    let blocks = benchmark.cta_blocks;
    if !blocks.is_single_cta() {
        let note = "in figures 6.2 to 6.4, 6.6 and 6.9, in the patterns and in the multi-GPU model, CTA means one of \
             these blocks, numbered consecutively; bytes are counted as each CTA received them";
        facts.push(("Transfers", format!("between {blocks}: {note}")));
    }
    let opaque = benchmark.opaque.as_ref();
    facts.extend(opaque.map(|opaque| ("Opaque launches", opaque_in_words(opaque))));
    if let Some(communication) = benchmark.communication {
        let words = format!(
            "{} of {} stored bytes ({}) are read by another CTA or kernel in a later launch",
            communication.communicated_in_words(grouped),
            grouped(communication.stored_bytes),
            communication.share_in_words(percent)
        );
        facts.push(("Communication", words));
    }
    if let Some(within) = &benchmark.within_launch {
        let words = within.in_words(benchmark.in_situ, |it| format!("{} bytes", grouped(it)));
        facts.extend(words.map(|words| ("Within launches", words)));
    }
    if let Some(digest) = &benchmark.digest {
        let reproducibility = match benchmark.reproducibility() {
            Reproducibility::Digests => "the same in every run",
            Reproducibility::Counts => {
                "not deterministic: it varies from run to run, but the counts do not"
            }
            Reproducibility::Launches => "not deterministic: it varies from run to run",
            Reproducibility::CountsEachLaunch => {
                "not deterministic: it varies from run to run, as does the number of launches"
            }
        };
        // The first digits are enough to compare digests by eye.
        let start: String = digest.chars().take(8).collect();
        facts.push(("Digest", format!("{start} ({reproducibility})")));
    }
    if let Some(size) = benchmark.capture_bytes {
        facts.push(("Capture", bytes(size as f64)));
    }
    description_list(&facts)
}

fn estimates(selection: &SelectionSummary) -> Vec<(&'static str, String)> {
    if let Some(reason) = &selection.no_estimates {
        return vec![("Estimated total", format!("none: {reason}"))];
    }
    let lines = (selection.estimates.iter()).filter(|line| line.kernel.is_none());
    let count = |value: f64| grouped(value.round() as u64);
    let words = lines.map(|line| {
        let total = line.estimate.total.map(count);
        let interval = line.estimate.interval.map(|ends| ends.map(count));
        let text = match (total, interval) {
            (None, _) => "unknown, because a stratum has no sampled units".to_owned(),
            (Some(total), None) => format!("{total}, error unknown"),
            (Some(total), Some([low, high])) => {
                format!("{total} (95 % confidence interval {low} to {high})")
            }
        };
        let quantity = line.quantity.replace('_', " ");
        ("Estimated total", format!("{quantity}: {text}"))
    });
    words.collect()
}

fn kernels(benchmark: &BenchmarkSummary) -> Markup {
    let rows = benchmark.kernels.iter().map(|kernel| {
        [
            ("Kernel", Cell::Code(kernel.name.clone())),
            ("Launches", Cell::count(kernel.launches)),
            ("CTAs", Cell::count(kernel.ctas)),
            ("Thread loads", Cell::count(kernel.loads)),
            ("Thread stores", Cell::count(kernel.stores)),
            ("Thread atomics", Cell::count(kernel.atomics)),
            ("Bytes of loads", Cell::count(kernel.bytes.loaded)),
            ("Bytes of stores", Cell::count(kernel.bytes.stored)),
            ("Bytes of atomics", Cell::count(kernel.bytes.atomic)),
        ]
    });
    let caption = format!("Kernels of {}, over all launches", benchmark.name);
    html! { h3 { "Kernels" } (table(&caption, rows)) }
}

fn opaque_in_words(opaque: &OpaqueSummary) -> String {
    let launches = grouped(opaque.launches);
    let share = opaque.share.map_or("an unknown share".to_owned(), percent);
    format!(
        "{launches} launches of code that Superstep did not build, {share} of the GPU's time in the untraced run; their writes count as unknown"
    )
}

fn opaque_kernels(name: &str, opaque: &OpaqueSummary) -> Markup {
    let rows = opaque.kernels.iter().map(|kernel| {
        [
            ("Kernel", Cell::Code(kernel.name.clone())),
            ("Launches", Cell::count(kernel.launches)),
            ("Time in ns", Cell::count(kernel.ns)),
        ]
    });
    let caption = format!("Kernels of {name} that Superstep did not build (untraced run)");
    html! { h3 { "Opaque launches" } (table(&caption, rows)) }
}

/// Renders the checks, collapsed to one line if all passed.
fn checks(benchmark: &BenchmarkSummary) -> Markup {
    let checks = &benchmark.verification;
    let count = |is_counted: fn(&Check) -> bool| checks.iter().filter(|c| is_counted(c)).count();
    let passed = count(|check| check.ok && !check.warning);
    let all_passed = passed == checks.len();
    let parts = [
        ("failed", count(Check::failed)),
        ("with a warning", count(|check| check.ok && check.warning)),
        ("not compared", count(|check| check.not_compared.is_some())),
    ];
    let others = parts.iter().filter(|(_, count)| *count > 0);
    let others: String = others.map(|(what, n)| format!(", {n} {what}")).collect();
    let summary = match all_passed {
        true => format!("Verification: all checks passed ({passed})"),
        false => format!(
            "Verification: {passed} of {} checks passed{others}",
            checks.len()
        ),
    };
    let rows = checks.iter().map(|check| {
        let (word, meaning) = match (check.ok, check.warning, check.not_compared) {
            (true, false, _) => ("passed".to_owned(), Meaning::Good),
            (true, true, _) => ("warning".to_owned(), Meaning::Neutral),
            (false, _, Some(reason)) => (format!("not compared: {reason}"), Meaning::Neutral),
            (false, _, None) => ("failed".to_owned(), Meaning::Bad),
        };
        [
            ("Check", Cell::Text(check.check.clone())),
            ("Outcome", Cell::Word(word, meaning)),
            ("Detail", Cell::Text(check.detail.clone())),
        ]
    });
    let table = table(&format!("Checks of {}", benchmark.name), rows);
    fold(&summary, !all_passed, table)
}

fn durations(benchmark: &BenchmarkSummary) -> Markup {
    let times = benchmark.seconds;
    let row = |name: &str, program, kernels| {
        [
            ("Run", Cell::Text(name.to_owned())),
            ("Program, s", seconds(program)),
            ("Kernels, s", seconds(kernels)),
        ]
    };
    let rows = [
        row("native", times.native, times.native_kernel),
        row("traced", times.traced, times.traced_kernel),
        row("counted", times.counted, None),
    ];
    let caption = format!("Wall-clock times of {}", benchmark.name);
    html! { h3 { "Durations" } (table(&caption, rows)) }
}
