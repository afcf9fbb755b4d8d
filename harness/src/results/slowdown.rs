//! Cost of tracing on a GPU: time, registers and occupancy of the kernels, untraced and traced.

use superstep_analysis::run_summary::{BenchmarkSummary, KernelTime, RunSummary, Status};
use superstep_report::figures::numbers::geometric_mean;
use superstep_trace::KernelResources;

use super::table::fitted_lines;

/// Columns and their ranks: a narrow table omits columns of the highest ranks first, and never those of rank 0.
const COLUMNS: [(&str, u8); 9] = [
    ("program", 0),
    ("launches", 2),
    ("native", 1),
    ("traced", 1),
    ("slowdown", 0),
    ("registers", 0),
    ("spilled", 4),
    ("CTAs/SM", 3),
    ("occupancy", 1),
];

/// Formats one line per program, followed by one per kernel if it has more than one, and lists omitted programs.
pub fn slowdown_table(run: &RunSummary, width: usize) -> String {
    let (mut rows, mut slowdowns, mut omitted) = (Vec::new(), Vec::new(), Vec::new());
    for benchmark in &run.benchmarks {
        let name = &benchmark.name;
        let [native, traced] = match kernel_s(benchmark) {
            Ok(times) => times,
            Err(why) => {
                omitted.push(format!("omitted: {name} ({}): {why}", run.suite));
                continue;
            }
        };
        slowdowns.push(traced / native);
        let kernels = &benchmark.kernel_times;
        let single = (kernels.first()).filter(|_| kernels.len() == 1);
        let launches = benchmark.launches.unwrap_or(0);
        let name = format!("{}/{name}", run.suite);
        rows.push(cells(name, launches, [native * 1e3, traced * 1e3], single));
        for kernel in kernels.iter().filter(|_| single.is_none()) {
            let name = format!("  {}", kernel.name);
            let times = [kernel.native_ns, kernel.traced_ns].map(|ns| ns as f64 / 1e6);
            rows.push(cells(name, kernel.launches, times, Some(kernel)));
        }
    }
    let mut lines = fitted_lines(&COLUMNS, &rows, 1, false, width);
    let programs = slowdowns.len();
    if let Some(mean) = geometric_mean(slowdowns) {
        lines.push(format!(
            "geometric mean of the slowdown of kernel time over {programs} programs: {mean:.2}x"
        ));
    }
    lines.extend(omitted);
    lines.join("\n")
}

/// Returns the time of all kernels in seconds, untraced and traced, or the reason why they are not comparable.
fn kernel_s(benchmark: &BenchmarkSummary) -> Result<[f64; 2], &'static str> {
    if benchmark.status != Status::Passed {
        return Err(benchmark.status.name());
    }
    if benchmark.selection.is_some() {
        return Err("only part of it was recorded");
    }
    let timed = |kernel: &KernelTime| kernel.native_ns > 0 && kernel.traced_ns > 0;
    match (benchmark.seconds.native_kernel).zip(benchmark.seconds.traced_kernel) {
        Some((native, traced))
            if native > 0.0 && traced > 0.0 && benchmark.kernel_times.iter().all(timed) =>
        {
            Ok([native, traced])
        }
        _ => Err("not all of its kernels were timed"),
    }
}

/// Formats a line with times in milliseconds, and the resources of the kernel if known.
fn cells(
    name: String,
    launches: u64,
    [native, traced]: [f64; 2],
    kernel: Option<&KernelTime>,
) -> Vec<String> {
    let resources = kernel.and_then(|kernel| kernel.native.zip(kernel.traced));
    let change = |what: fn(&KernelResources) -> String| match &resources {
        Some((before, after)) => format!("{} > {}", what(before), what(after)),
        None => "-".to_owned(),
    };
    vec![
        name,
        super::human_count(launches),
        format!("{native:.3} ms"),
        format!("{traced:.3} ms"),
        match native > 0.0 {
            true => format!("{:.2}x", traced / native),
            false => "-".to_owned(),
        },
        change(|it| it.registers.to_string()),
        change(|it| it.local_bytes.to_string()),
        change(|it| it.sm_ctas.to_string()),
        change(|it| format!("{:.0} %", 100.0 * it.occupancy())),
    ]
}

#[cfg(test)]
mod tests;
