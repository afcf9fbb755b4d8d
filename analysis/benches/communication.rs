//! Throughput of the analysis for regular and scattered accesses: of a capture, of the communication engine alone, and of a
//! simple analysis with hash maps on one thread.
//!
//! Run with `cargo bench --package superstep-analysis`.

use criterion::{Criterion, Throughput};
use std::hint::black_box;
use superstep_analysis::analyse;
use superstep_analysis::communication::Options;
use superstep_testing::synthetic::{self, Pattern, accesses, engine, program, simple};
use superstep_trace::Capture;

const LAUNCHES: u32 = 3;
const WORDS: u64 = 1 << 20;

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    for (name, pattern) in [
        ("regular", Pattern::Regular),
        ("scattered", Pattern::Scattered),
    ] {
        let program = program(pattern, LAUNCHES, WORDS);
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        synthetic::write(folder.path(), LAUNCHES, WORDS, |_| pattern).expect("a capture");
        let capture = Capture::open(folder.path()).expect("a capture");
        let found = engine(&program, Options::default()).expect("an analysis");
        assert_eq!(found, simple(&program), "{name}");
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(accesses(&program)));
        for (kept, options) in [
            ("volumes", Options::default()),
            ("everything", Options::everything()),
        ] {
            group.bench_function(format!("engine, {kept}"), |bencher| {
                bencher.iter(|| black_box(engine(&program, options).map_err(|e| e.to_string())));
            });
            group.bench_function(format!("capture, {kept}"), |bencher| {
                bencher.iter(|| black_box(analyse(&capture, options).map_err(|e| e.to_string())));
            });
        }
        group.bench_function("hash maps", |bencher| {
            bencher.iter(|| black_box(simple(&program)));
        });
        group.finish();
    }
    criterion.final_summary();
}
