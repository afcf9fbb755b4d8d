//! Speed of the group codec and the digest, in thread accesses per second on one core.
//!
//! `cargo bench -p superstep-trace`

use criterion::{Criterion, Throughput};
use std::hint::black_box;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::*;

/// Returns groups from a stencil: five loads and a store by neighbouring warps, all in arithmetic sequences.
fn coalesced() -> Vec<AccessGroup> {
    patterned(|cta, step, site, lane| {
        (u64::from(site) << 24) + u64::from(cta) * 4096 + step * 128 + lane * 4
    })
}

/// Returns groups with half-warps in two rows, as in 16 × 16 CTAs.
fn tiled() -> Vec<AccessGroup> {
    patterned(|cta, step, site, lane| {
        let row = lane / 16;
        (u64::from(site) << 24) + u64::from(cta) * 64 + step * 4096 + row * 2048 + lane % 16 * 4
    })
}

/// Returns groups with irregular addresses, as in a graph search.
fn scattered() -> Vec<AccessGroup> {
    patterned(|cta, step, site, lane| {
        let mut x = (u64::from(cta) << 40 | step << 20 | u64::from(site) << 8 | lane)
            ^ 0x9e37_79b9_7f4a_7c15;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x ^ (x >> 27)) % (1 << 26) * 4
    })
}

fn patterned(address: impl Fn(u32, u64, u16, u64) -> u64) -> Vec<AccessGroup> {
    let mut groups = Vec::new();
    for cta in 0..64 {
        for warp in 0..8 {
            for step in 0..8 {
                for site in 0..6 {
                    groups.push(AccessGroup {
                        site: SiteId::new(0, site),
                        cta,
                        warp,
                        sm: cta % 7,
                        mask: u32::MAX,
                        width_bytes: 4,
                        addresses: std::array::from_fn(|lane| {
                            0x7f00_0000_0000 + address(cta * 8 + warp, step, site, lane as u64)
                        }),
                    });
                }
            }
        }
    }
    groups
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for (name, groups) in [
        ("coalesced", coalesced()),
        ("tiled", tiled()),
        ("scattered", scattered()),
    ] {
        let accesses = groups.len() as u64 * WARP_LANES as u64;
        let folder = std::env::temp_dir().join(format!("superstep-bench-{}", std::process::id()));
        let mut bench = criterion.benchmark_group(name);
        bench.throughput(Throughput::Elements(accesses));
        bench.sample_size(20);

        let mut builder = ChunkBuilder::new(LaunchId(0));
        let mut stored_bytes = 0;
        bench.bench_function("encode and compress", |bencher| {
            bencher.iter(|| {
                stored_bytes = 0;
                for group in &groups {
                    builder.push(black_box(group));
                    if builder.is_full() {
                        stored_bytes += builder.seal().stored_bytes();
                    }
                }
                stored_bytes += builder.seal().stored_bytes();
            });
        });
        eprintln!(
            "{name}: {:.3} bytes per access",
            stored_bytes as f64 / accesses as f64
        );

        let capture = write(&folder, &groups);
        let record = capture.launches().next().expect("there is a launch");
        let mut buffer = GroupBuffer::default();
        bench.bench_function("decode", |bencher| {
            bencher.iter(|| {
                for chunk in record.chunks {
                    let visit = |group: &AccessGroup| {
                        black_box(group);
                    };
                    capture
                        .read_chunk(chunk, &mut buffer, visit)
                        .expect("the chunk is whole");
                }
            });
        });
        bench.bench_function("digest", |bencher| {
            bencher.iter(|| {
                let mut known = digest::Known::default();
                let mut hasher = digest::Hasher::new(&record, capture.sites(), &mut known);
                for group in &groups {
                    hasher.add(group);
                }
                hasher.finish()
            });
        });
        bench.finish();
        let _ = std::fs::remove_dir_all(&folder);
    }
    criterion.final_summary();
}

fn write(folder: &std::path::Path, groups: &[AccessGroup]) -> Capture {
    let sites = (0..6).map(|local| testing::site(local, Op::Load)).collect();
    let mut capture = CaptureBuilder::new(folder, &testing::module("bench.cu", sites, &[]));
    capture.allocate(0x7f00_0000_0000, 1 << 30, AllocationKind::Device);
    let chunks: Vec<_> = groups.chunks(16_384).collect();
    capture.launch(testing::launch("kernel", 512, 256), &chunks);
    capture.finish()
}
