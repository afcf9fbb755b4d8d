//! Throughput of the communication engine for regular and scattered accesses.
//!
//! Run with `cargo bench --package superstep-analysis`. `superstep-bench analysis` reports the speedup over a
//! single-threaded version with hash maps, and the figures for a capture.

use criterion::{Criterion, Throughput};
use std::hint::black_box;
use superstep_analysis::communication::Options;
use superstep_testing::synthetic::{Pattern, accesses, engine, program};

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    for (name, pattern) in [
        ("regular", Pattern::Regular),
        ("scattered", Pattern::Scattered),
    ] {
        let program = program(pattern, 3, 1 << 20);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(accesses(&program)));
        for (results, options) in [
            ("volumes", Options::default()),
            ("everything", Options::everything()),
        ] {
            group.bench_function(results, |bencher| {
                bencher.iter(|| black_box(engine(&program, options).map_err(|e| e.to_string())));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
