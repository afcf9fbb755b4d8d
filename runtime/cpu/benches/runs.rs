//! Measures how fast the logs of a user-defined probe are grouped and their bits combined, in thread values per second on
//! one core.
//!
//! `cargo bench -p superstep-cudart-cpu`

use criterion::{Criterion, Throughput};
use std::hint::black_box;
use superstep_cudart_cpu::record::merge::{LANES, LogEntry};
use superstep_cudart_cpu::record::runs::{Bits, merge_warp};

/// Number of points in a run, and of runs that each lane executes.
const PLACES: usize = 9;
const RUNS: usize = 512;
const WORDS: usize = (1 + PLACES).next_multiple_of(2);

/// Returns the logs of a warp; `site` gives the site at which a run of a lane begins.
fn warp(site: impl Fn(usize, usize) -> u64) -> Vec<Vec<LogEntry>> {
    let lane = |lane: usize| {
        let words = (0..RUNS).flat_map(|run| {
            let payload = (lane * RUNS + run) as u64;
            std::iter::once(site(lane, run))
                .chain((1..WORDS as u64).map(move |place| payload.wrapping_mul(place)))
                .collect::<Vec<u64>>()
        });
        let words: Vec<u64> = words.collect();
        let pairs = words.chunks_exact(2);
        pairs
            .map(|pair| LogEntry {
                width_and_site: pair[0],
                address: pair[1],
            })
            .collect()
    };
    (0..LANES).map(lane).collect()
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut bench = criterion.benchmark_group("values-of-a-warp");
    bench.throughput(Throughput::Elements((LANES * RUNS * PLACES) as u64));
    // All lanes are at the same points, or even and odd lanes are at different points in every other run.
    let together = warp(|_, run| run as u64 % 7);
    let apart = warp(|lane, run| (lane * run) as u64 % 2);
    for (name, logs) in [("together", together), ("apart", apart)] {
        let lanes: [&[LogEntry]; LANES] = std::array::from_fn(|lane| logs[lane].as_slice());
        bench.bench_function(name, |b| {
            b.iter(|| {
                let mut bits = Bits::EMPTY;
                merge_warp(
                    black_box(&lanes),
                    |_| WORDS,
                    |run| {
                        bits.set(run.rows);
                        black_box(&bits);
                    },
                );
            });
        });
    }
    bench.finish();
    criterion.final_summary();
}
