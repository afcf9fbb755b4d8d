//! Cost of tracing on a GPU: time, registers and occupancy of the kernels, before and after.

use serde::Serialize;
use superstep_analysis::run_summary::{BenchmarkSummary, KernelTime, RunSummary, Status};
use superstep_trace::KernelResources;

use super::text::{geometric_mean, plain_table, table_lines};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slowdown {
    pub suite: String,
    pub size: String,
    pub benchmark: String,
    pub launches: u64,
    /// Time of all kernels, untraced, in milliseconds.
    pub native_ms: f64,
    pub traced_ms: f64,
    pub slowdown: f64,
    /// Its kernels, in the order of first launch.
    pub kernels: Vec<KernelTime>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Slowdowns {
    pub schema_version: u32,
    pub devices: Vec<String>,
    pub programs: Vec<Slowdown>,
    /// Geometric mean of their slowdowns; `None` without programs.
    pub geometric_mean: Option<f64>,
    /// Programs left out, and why.
    pub left_out: Vec<String>,
}

/// Collects the slowdowns of `runs`. Programs that failed, were not timed, or of which only a part was recorded are left out.
pub fn slowdowns<'a>(runs: impl IntoIterator<Item = &'a RunSummary>) -> Slowdowns {
    let mut all = Slowdowns {
        schema_version: 1,
        ..Slowdowns::default()
    };
    for run in runs {
        if !all.devices.contains(&run.device) {
            all.devices.push(run.device.clone());
        }
        for benchmark in &run.benchmarks {
            let (name, suite) = (&benchmark.name, &run.suite);
            match slowdown(run, benchmark) {
                Ok(row) => all.programs.push(row),
                Err(why) => all.left_out.push(format!("{name} ({suite}): {why}")),
            }
        }
    }
    all.geometric_mean = geometric_mean(all.programs.iter().map(|row| row.slowdown));
    all
}

fn slowdown(run: &RunSummary, benchmark: &BenchmarkSummary) -> Result<Slowdown, &'static str> {
    if benchmark.status != Status::Passed {
        return Err(benchmark.status.as_str());
    }
    if benchmark.selection.is_some() {
        return Err("only a part of it was recorded");
    }
    let seconds = &benchmark.seconds;
    let (Some(native), Some(traced)) = (seconds.native_kernel, seconds.traced_kernel) else {
        return Err("not all of its kernels were timed");
    };
    let timed = |kernel: &KernelTime| kernel.native_ns > 0 && kernel.traced_ns > 0;
    if native <= 0.0 || traced <= 0.0 || !benchmark.kernel_times.iter().all(timed) {
        return Err("not all of its kernels were timed");
    }
    Ok(Slowdown {
        suite: run.suite.clone(),
        size: run.size.clone(),
        benchmark: benchmark.name.clone(),
        launches: benchmark.launches.unwrap_or(0),
        native_ms: native * 1e3,
        traced_ms: traced * 1e3,
        slowdown: traced / native,
        kernels: benchmark.kernel_times.clone(),
    })
}

/// The table: a line a program, with a line a kernel below where its resources are known.
pub fn slowdown_table(all: &Slowdowns) -> String {
    let header = [
        "program",
        "launches",
        "native",
        "traced",
        "slowdown",
        "registers",
        "spilled",
        "CTAs/SM",
        "occupancy",
    ];
    let mut table = plain_table(header, false);
    for row in &all.programs {
        let name = format!("{}/{}", row.suite, row.benchmark);
        let only = (row.kernels.first()).filter(|_| row.kernels.len() == 1);
        let times = [row.native_ms, row.traced_ms];
        table.add_row(cells(name, row.launches, times, only));
        for kernel in row.kernels.iter().filter(|_| only.is_none()) {
            let name = format!("  {}", kernel.name);
            let times = [kernel.native_ns, kernel.traced_ns].map(|ns| ns as f64 / 1e6);
            table.add_row(cells(name, kernel.launches, times, Some(kernel)));
        }
    }
    let mut lines = table_lines(table, 1);
    if let Some(mean) = all.geometric_mean {
        lines.push(format!(
            "geometric mean of the slowdown of kernel time over {} programs: {mean:.2}x",
            all.programs.len()
        ));
    }
    lines.extend(all.left_out.iter().map(|why| format!("left out: {why}")));
    lines.join("\n")
}

/// Times in milliseconds, and what the kernel takes of an SM, where that is known.
fn cells(
    name: String,
    launches: u64,
    [native, traced]: [f64; 2],
    kernel: Option<&KernelTime>,
) -> Vec<String> {
    let both = kernel.and_then(|kernel| kernel.native.zip(kernel.traced));
    let change = |what: fn(&KernelResources) -> String| match &both {
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
