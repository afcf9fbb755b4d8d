//! The result of one program in a few lines of at most 80 columns.

use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};
use superstep_trace::{Backend, display_name};

use super::partial::notes;
use super::table::{
    YELLOW, at_least, attempts, color_of, counted, human_bytes, percent, seconds, slowdown,
};
use super::{RunFolder, human_count};

/// Maximum length of a line, unless a word is longer.
const WIDTH: usize = 80;
/// Width of the label column.
const LABELS: usize = 14;

pub fn card(
    summary: &RunSummary,
    program: &BenchmarkSummary,
    folder: &RunFolder,
    color: bool,
) -> String {
    let mut rows = vec![(program.status.name(), outcome(summary, program))];
    if let Some(threads) = program.threads {
        let [loads, stores, atomics] =
            [threads.loads, threads.stores, threads.atomics].map(human_count);
        let capture = program.capture_bytes.map(human_bytes);
        let capture = capture.map_or(String::new(), |size| format!("; capture {size}"));
        let text = format!("{loads} loads, {stores} stores, {atomics} atomics{capture}");
        rows.push(("accesses", text));
    }
    if let Some(it) = program.communication {
        let bytes = it.communicated_in_words(human_bytes);
        let share = it.share_in_words(percent);
        let mut text = format!("{bytes}, {share} of the stored bytes");
        if let Some(within) = &program.within_launch {
            let (bound, bytes) = (at_least(program.in_situ), human_bytes(within.loaded_bytes));
            let share = percent(within.share());
            text.push_str(&format!(
                ";\nwithin launches {bound}{bytes}, {bound}{share} of the loaded bytes"
            ));
        }
        rows.push(("communicated", text));
        rows.extend(top_array(program, folder).map(|text| ("top array", text)));
    }
    rows.extend(notes(program));
    if program.status == Status::Passed && program.warnings().next().is_none() {
        rows.push(("warnings", "none".to_owned()));
    }
    let page = folder.path().join("index.html");
    let (label, path) = match page.is_file() {
        true => ("report", page),
        false => ("results", folder.path().to_owned()),
    };
    let current = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(current).unwrap_or(&path);
    rows.push((label, path.display().to_string()));
    let lines = rows.iter().flat_map(|(label, text)| {
        let ansi = match *label {
            "warning" => Some(YELLOW),
            label => (label == program.status.name()).then(|| color_of(program)),
        };
        let label = format!("{label:LABELS$}");
        let label = match ansi.filter(|_| color) {
            Some(ansi) => format!("\u{1b}[38;5;{ansi}m{label}\u{1b}[0m"),
            None => label,
        };
        let labels = std::iter::once(label).chain(std::iter::repeat(" ".repeat(LABELS)));
        let lines = labels.zip(wrapped(text, WIDTH - LABELS));
        lines.map(|(label, text)| label + &text)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn outcome(summary: &RunSummary, program: &BenchmarkSummary) -> String {
    let arguments = summary.command.iter().skip(1);
    let command: String = arguments.map(|word| format!(" {word}")).collect();
    let failure = program.failure.as_ref();
    let (times, repeats) = (&program.seconds, program.repeats.unwrap_or_default());
    let slowdown = slowdown(times, summary.backend == Backend::Cuda);
    let slowdown = slowdown.map_or(String::new(), |ratio| format!(" ({ratio})"));
    let facts = [
        failure.map(|failure| format!("failure kind: {}", failure.kind)),
        Some(format!("on {}", summary.backend)),
        attempts(program),
        program.launches.map(|launches| counted(launches, "launch")),
        seconds(times.native, repeats.native).map(|time| format!("untraced {time}")),
        seconds(times.traced, repeats.traced).map(|time| format!("traced {time}{slowdown}")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    format!("superstep{command}\n{}", facts.join(", "))
}

/// Returns the array and the source line through which most bytes are communicated, from the tables of the run.
fn top_array(program: &BenchmarkSummary, folder: &RunFolder) -> Option<String> {
    let name = (program.processes.first()).map_or(&program.name, |process| &process.name);
    let metrics = Metrics::read(&folder.tables(name)).ok()??;
    let array = metrics.arrays.first();
    let array = array.filter(|array| array.received_bytes > 0)?;
    let mut text = display_name(&array.array);
    // An array without a name is identified by its place.
    if !array.place.is_empty() && array.place != array.array {
        text.push_str(&format!(" ({})", array.place));
    }
    text.push_str(&format!(
        ", {:.0} % of the received bytes",
        100.0 * array.share
    ));
    if let Some(line) = metrics.lines.first() {
        let (file, line, share) = (&line.file, line.line, 100.0 * line.share);
        text.push_str(&format!(
            ";\ntop line {file}:{line}, {share:.0} % of the communicated loads"
        ));
    }
    Some(text)
}

/// Breaks lines between words so that none is longer than `width`, unless a word is.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split(' ') {
            let needed = current.chars().count() + 1 + word.chars().count();
            if !current.is_empty() && needed > width {
                lines.push(std::mem::take(&mut current));
            } else if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests;
