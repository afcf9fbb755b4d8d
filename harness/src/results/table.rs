//! Formats human-readable tables and numbers.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};
use indicatif::{HumanBytes, HumanCount};
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Seconds, Spread, Status};

pub fn summary_table(summary: &RunSummary, color: bool) -> String {
    let header = "benchmark, status, launches, CTAs, loads, stores, atomics, bytes, communicated, within launches, \
                  native, traced, slowdown, capture, B/access";
    let mut table = plain_table(header.split(", "), color);
    for benchmark in &summary.benchmarks {
        table.add_row(row(benchmark));
    }
    table_lines(table, 2).join("\n")
}

fn row(benchmark: &BenchmarkSummary) -> Vec<Cell> {
    let color = match benchmark.status {
        Status::Passed => Color::Green,
        Status::Failed => Color::Red,
        Status::Skipped => Color::Yellow,
    };
    let mut status = match &benchmark.failure {
        Some(failure) => format!("{} ({})", benchmark.status.as_str(), failure.kind),
        None => benchmark.status.as_str().to_owned(),
    };
    if let Some(why) = benchmark.not_compared() {
        status.push_str(&format!(", not compared: {why}"));
    }
    let earlier = benchmark.earlier_attempts.len() as u64;
    if earlier > 0 {
        status.push_str(&format!(" after {}", counted(earlier, "failed attempt")));
    }
    let unless_known = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let count = |number: Option<u64>| unless_known(number.map(human_count));
    let size = |bytes: Option<u64>| unless_known(bytes.map(human_bytes));
    let seconds = |seconds: Option<f64>, spread: Option<Spread>| match spread {
        Some(Spread { median, min, max }) => format!("{median:.2} s ({min:.2} to {max:.2})"),
        None => unless_known(seconds.map(|seconds| format!("{seconds:.2} s"))),
    };
    let (times, repeats) = (&benchmark.seconds, benchmark.repeats.unwrap_or_default());
    let (threads, bytes) = (benchmark.threads, benchmark.bytes);
    let share = (benchmark.communication)
        .map(|it| it.share_in_words(|share| format!("{:.1} %", 100.0 * share)));
    let within = (benchmark.within_launch.as_ref()).map(|it| {
        format!(
            "{}{:.1} %",
            if benchmark.in_situ { "≥ " } else { "" },
            100.0 * it.share()
        )
    });
    let per_access = bytes_per_access(benchmark).map(|bytes| format!("{bytes:.3}"));
    let name = Cell::new(&benchmark.name);
    let numbers = [
        count(benchmark.launches),
        count(benchmark.ctas),
        count(threads.map(|threads| threads.loads)),
        count(threads.map(|threads| threads.stores)),
        count(threads.map(|threads| threads.atomics)),
        size(bytes.map(|bytes| bytes.with_atomics()[0].saturating_add(bytes.stored))),
        unless_known(share),
        unless_known(within),
        seconds(times.native, repeats.native),
        seconds(times.traced, repeats.traced),
        unless_known(slowdown(times).map(|ratio| format!("{ratio:.1}x"))),
        size(benchmark.capture_bytes),
        unless_known(per_access),
    ];
    let cells = [name, Cell::new(status).fg(color)].into_iter();
    cells.chain(numbers.map(Cell::new)).collect()
}

/// Returns the slowdown of the kernels, or of the whole program if their times are unknown.
fn slowdown(seconds: &Seconds) -> Option<f64> {
    let ratio = |native: Option<f64>, traced: Option<f64>| {
        let native = native.filter(|native| *native > 0.0)?;
        Some(traced? / native)
    };
    ratio(seconds.native_kernel, seconds.traced_kernel)
        .or_else(|| ratio(seconds.native, seconds.traced))
}

fn bytes_per_access(benchmark: &BenchmarkSummary) -> Option<f64> {
    let threads = benchmark.threads?;
    let accesses = threads.loads + threads.stores + threads.atomics;
    (accesses > 0).then_some(benchmark.capture_bytes? as f64 / accesses as f64)
}

pub fn human_count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Formats a number and a noun: "1 launch", "2,000 launches". Nouns that end in h or s take "es".
pub fn counted(number: u64, noun: &str) -> String {
    let plural = match (number, noun.ends_with(['h', 's'])) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{plural}", human_count(number))
}

pub fn human_bytes(bytes: u64) -> String {
    HumanBytes(bytes).to_string()
}

pub fn plain_table<T: ToString>(header: impl IntoIterator<Item = T>, color: bool) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let bold = |title: T| Cell::new(title).add_attribute(Attribute::Bold);
    table.set_header(header.into_iter().map(bold));
    table
}

/// Returns the lines of a table, right-aligned after the first `left` columns.
pub fn table_lines(mut table: Table, left: usize) -> Vec<String> {
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.lines();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
}

#[cfg(test)]
mod tests;
