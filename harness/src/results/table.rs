//! Formats human-readable tables and numbers.

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, presets,
};
use indicatif::{HumanBytes, HumanCount};
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Seconds, Spread, Status};
use superstep_trace::Backend;

/// Columns of the summary table and their ranks: a narrow table omits the highest ranks first, and never rank 0.
const COLUMNS: [(&str, u8); 15] = [
    ("benchmark", 0),
    ("status", 0),
    ("launches", 4),
    ("CTAs", 9),
    ("loads", 5),
    ("stores", 5),
    ("atomics", 8),
    ("bytes loaded\nand stored", 2),
    ("communicated\nof stored", 1),
    ("within launches\nof loaded", 1),
    ("native", 6),
    ("traced", 6),
    ("slowdown", 3),
    ("capture", 7),
    ("B/access", 10),
];

pub fn summary_table(summary: &RunSummary, color: bool, width: usize) -> String {
    let is_gpu = summary.backend == Backend::Cuda;
    let rows = summary.benchmarks.iter().map(|it| row(it, is_gpu));
    fitted_lines(&COLUMNS, &rows.collect::<Vec<_>>(), 2, color, width).join("\n")
}

fn row(benchmark: &BenchmarkSummary, is_gpu: bool) -> Vec<Cell> {
    let mut status = match &benchmark.failure {
        Some(failure) => format!("{} ({})", benchmark.status.name(), failure.kind),
        None => benchmark.status.name().to_owned(),
    };
    if benchmark.not_compared().is_some() {
        status.push_str(", not compared");
    }
    let warnings = benchmark.warnings().count() as u64;
    if warnings > 0 {
        status.push_str(&format!(", {}", counted(warnings, "warning")));
    }
    status.extend(attempts(benchmark).map(|text| format!(" {text}")));
    let count = |number: Option<u64>| number.map(human_count);
    let size = |bytes: Option<u64>| bytes.map(human_bytes);
    let (times, repeats) = (&benchmark.seconds, benchmark.repeats.unwrap_or_default());
    let (threads, bytes) = (benchmark.threads, benchmark.bytes);
    let share = (benchmark.communication).map(|it| it.share_in_words(percent));
    let within = (benchmark.within_launch.as_ref())
        .map(|it| at_least(benchmark.in_situ) + &percent(it.share()));
    let per_access = bytes_per_access(benchmark).map(|bytes| format!("{bytes:.3}"));
    let numbers = [
        count(benchmark.launches),
        count(benchmark.ctas),
        count(threads.map(|threads| threads.loads)),
        count(threads.map(|threads| threads.stores)),
        count(threads.map(|threads| threads.atomics)),
        size(bytes.map(|bytes| bytes.with_atomics()[0].saturating_add(bytes.stored))),
        share,
        within,
        seconds(times.native, repeats.native),
        seconds(times.traced, repeats.traced),
        slowdown(times, is_gpu),
        size(benchmark.capture_bytes),
        per_access,
    ];
    let status = Cell::new(status).fg(Color::AnsiValue(color_of(benchmark)));
    let mut cells = vec![Cell::new(&benchmark.name), status];
    cells.extend(numbers.map(|text| Cell::new(text.as_deref().unwrap_or("–"))));
    cells
}

/// Returns text such as "after 1 failed attempt", or `None` if there were no earlier attempts.
pub(super) fn attempts(benchmark: &BenchmarkSummary) -> Option<String> {
    let earlier = benchmark.earlier_attempts.len() as u64;
    (earlier > 0).then(|| format!("after {}", counted(earlier, "failed attempt")))
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Returns the sign that precedes a lower bound.
pub(super) fn at_least(is_bound: bool) -> String {
    if is_bound { "≥ " } else { "" }.to_owned()
}

pub(super) const YELLOW: u8 = 3;

/// Returns the colour of a status, one of the terminal's 8 colours.
pub(super) fn color_of(benchmark: &BenchmarkSummary) -> u8 {
    match benchmark.status {
        Status::Passed if benchmark.warnings().next().is_some() => YELLOW,
        Status::Passed => 2,
        Status::Failed => 1,
        Status::Skipped => YELLOW,
    }
}

/// Formats a duration, with its spread if it was measured more than once.
pub(super) fn seconds(seconds: Option<f64>, spread: Option<Spread>) -> Option<String> {
    match spread {
        Some(Spread { median, min, max }) => Some(format!("{median:.2} s ({min:.2} to {max:.2})")),
        None => seconds.map(|seconds| format!("{seconds:.2} s")),
    }
}

/// Time in seconds below which time ratios are mostly noise.
pub const MIN_TIME_S: f64 = 0.05;

/// Returns `after / before`, or `None` if either time is too short to be meaningful.
pub fn time_ratio(before: f64, after: f64) -> Option<f64> {
    (before.min(after) >= MIN_TIME_S).then(|| after / before)
}

/// Returns the ratio of kernel times. A GPU's clock measures even short times accurately.
pub fn kernel_ratio(before: f64, after: f64, is_gpu: bool) -> Option<f64> {
    match is_gpu && before > 0.0 {
        true => Some(after / before),
        false => time_ratio(before, after),
    }
}

/// Formats the slowdown of the kernels, or of the whole program if the kernels' times are unknown or too short.
pub(super) fn slowdown(seconds: &Seconds, is_gpu: bool) -> Option<String> {
    let kernels = seconds.native_kernel.zip(seconds.traced_kernel);
    let kernels = kernels.and_then(|(native, traced)| kernel_ratio(native, traced, is_gpu));
    let program = || time_ratio(seconds.native?, seconds.traced?);
    Some(format!("{:.1}x", kernels.or_else(program)?))
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

/// Returns the lines of a table with all columns of rank 0, and the others in rank order while they fit into `width`
/// characters.
pub(super) fn fitted_lines<T: Into<Cell> + Clone>(
    columns: &[(&str, u8)],
    rows: &[Vec<T>],
    left: usize,
    color: bool,
    width: usize,
) -> Vec<String> {
    let mut table = plain_table(columns.iter().map(|(title, _)| *title), color);
    for row in rows {
        table.add_row(row.clone());
    }
    let widths = table.column_max_content_widths();
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|&column| columns[column].1);
    // A column has a space on each side; the last one is trimmed.
    let mut free = (width + 1) as i64;
    for column in order {
        let needed = i64::from(widths[column]) + 2;
        if columns[column].1 == 0 || needed <= free {
            free -= needed;
            continue;
        }
        free = 0;
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    table_lines(table, left)
}

/// Returns the lines of a table, right-aligned after the first `left` columns.
pub fn table_lines(mut table: Table, left: usize) -> Vec<String> {
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.lines();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests;
