//! Tests for `slowdown`.

use super::*;
use superstep_analysis::run_summary::Seconds;

fn program(name: &str, native: f64, traced: f64) -> BenchmarkSummary {
    let resources = |registers, sm_ctas| {
        Some(KernelResources {
            registers,
            cta_threads: 256,
            sm_ctas,
            sm_threads: 2048,
            ..KernelResources::default()
        })
    };
    BenchmarkSummary {
        name: name.into(),
        status: Status::Passed,
        launches: Some(5),
        seconds: Seconds {
            native_kernel: Some(native),
            traced_kernel: Some(traced),
            ..Seconds::default()
        },
        kernel_times: vec![KernelTime {
            name: "step".into(),
            launches: 5,
            native_ns: (native * 1e9) as u64,
            traced_ns: (traced * 1e9) as u64,
            native: resources(32, 8),
            traced: resources(64, 4),
        }],
        ..BenchmarkSummary::default()
    }
}

#[test]
fn the_mean_is_geometric_and_omitted_programs_are_listed() {
    let mut half_timed = program("d", 0.001, 0.001);
    half_timed.kernel_times[0].traced_ns = 0;
    let run = RunSummary {
        suite: "thesis".into(),
        device: "a GPU".into(),
        benchmarks: vec![
            program("a", 0.001, 0.002),
            program("b", 0.001, 0.008),
            half_timed,
            BenchmarkSummary {
                name: "c".into(),
                ..BenchmarkSummary::default()
            },
        ],
        ..RunSummary::default()
    };
    let untimed = "d (thesis): not all of its kernels were timed";
    let table = slowdown_table(&run, 120);
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
        cells.join(", ")
    };
    let lines: Vec<String> = table.lines().map(cells).collect();
    let row = "thesis/a, 5, 1.000 ms, 2.000 ms, 2.00x, 32 > 64, 0 > 0, 8 > 4, 100 % > 50 %";
    assert_eq!(lines[1], row);
    let mean = "geometric mean of the slowdown of kernel time over 2 programs: 4.00x";
    assert_eq!(lines[3], mean);
    assert_eq!(lines[4], format!("omitted: {untimed}"));
    assert_eq!(lines[5], "omitted: c (thesis): failed");
    let narrow = slowdown_table(&run, 80);
    assert!(
        !narrow.contains("spilled") && narrow.contains("occupancy"),
        "{narrow}"
    );
}
