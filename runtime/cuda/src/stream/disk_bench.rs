//! From records in memory to a file, on one core: that all accesses arrive, and how fast.
//!
//! `SUPERSTEP_BENCH_SECONDS=2 cargo test --release -p superstep-cuda --lib -- --nocapture to_disk`

use super::wire::{Emit, Reader};
use super::wire_tests::record;
use std::time::{Duration, Instant};
use superstep_trace::{AccessGroup, CaptureWriter, ChunkBuilder, Header, LaunchId, StreamId};

const PIECE_BYTES: usize = 64 << 10;
/// Warps that write by turns: those of an SM's eight CTAs of `suites/bench`.
const WARPS: u32 = 64;
/// Unrolled loads of a round, each a site.
const SITES: u16 = 8;
/// CTAs of the program, 256 threads each.
const CTAS: u32 = 132 * 8;
const BASE: u64 = 0x7f12_3400_0000;

/// Into a stream's file, as a worker does it.
struct ToDisk {
    chunk: ChunkBuilder,
    stream: superstep_trace::StreamWriter,
    accesses: u64,
}

impl Emit for ToDisk {
    const ADDRESSES: bool = true;
    fn lanes(&mut self, lanes: u32) {
        self.accesses += u64::from(lanes);
    }
    fn group(&mut self, group: &AccessGroup) {
        self.chunk.push(group);
        self.write_if_full();
    }
    fn run(&mut self, group: &AccessGroup, base: u64, stride: u64) {
        self.chunk.push_run(group, base, stride);
        self.write_if_full();
    }
}

impl ToDisk {
    fn write_if_full(&mut self) {
        if self.chunk.is_full() {
            self.stream
                .flush(&mut self.chunk)
                .expect("the file can be written");
        }
    }
}

/// Address of a lane's `step`-th access; `thread` is its number in the grid.
type Pattern = fn(thread: u32, step: u32) -> u64;

fn lcg(mut at: u32, steps: u32) -> u32 {
    for _ in 0..steps {
        at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    }
    at
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The first three as `suites/bench` has them.
const PATTERNS: [(&str, Pattern); 5] = [
    ("coalesced", |thread, step| {
        u64::from(thread.wrapping_add(step * CTAS * 256) % (1 << 24)) * 4
    }),
    ("broadcast", |thread, step| {
        u64::from((thread / 32).wrapping_add(step * CTAS * 8) % (1 << 24)) * 4
    }),
    ("scattered", |thread, step| {
        u64::from(lcg(thread.wrapping_mul(2_654_435_761), step) >> 8) * 4
    }),
    ("random", |thread, step| {
        mix(u64::from(thread) << 32 | u64::from(step)) % (1 << 24) * 4
    }),
    ("random in 4 KiB", |thread, step| {
        let at = mix(u64::from(thread) << 32 | u64::from(step)) % (1 << 10) * 4;
        at + u64::from(thread / 32 % 512 + step % 16 * 512) * 4096
    }),
];

/// The pieces that a ring brings of `rounds` rounds.
fn pieces(pattern: Pattern, rounds: u32) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for round in 0..rounds {
        for warp in 0..WARPS {
            for site in 0..SITES {
                let thread = |lane: u32| (warp / 8 * 132 * 256 + warp % 8 * 32) + lane;
                let step = round * u32::from(SITES) + u32::from(site);
                let group = AccessGroup {
                    site: superstep_trace::SiteId::new(0, site),
                    cta: warp / 8 * 132,
                    warp: warp % 8,
                    sm: 0,
                    mask: u32::MAX,
                    width_bytes: 4,
                    addresses: std::array::from_fn(|lane| {
                        BASE + pattern(thread(lane as u32), step)
                    }),
                };
                all.extend(record(&group, (all.len() / PIECE_BYTES) as u32));
            }
        }
    }
    all.chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect()
}

#[test]
fn to_disk() {
    let seconds = std::env::var("SUPERSTEP_BENCH_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
    let rounds = if seconds == 0 { 2 } else { 192 };
    let folder = tempfile::tempdir().expect("there is room");
    println!(
        "{:16} {:>12} {:>14} {:>10}",
        "pattern", "M accesses/s", "bytes/access", "wire bytes"
    );

    for (name, pattern) in PATTERNS {
        let pieces = pieces(pattern, rounds);
        let wire: usize = pieces.iter().map(Vec::len).sum();
        let begin = Instant::now();
        let (mut best, mut stored, mut accesses) = (Duration::MAX, 0, 0);
        while accesses == 0 || begin.elapsed() < Duration::from_secs(seconds) {
            let capture =
                CaptureWriter::create(folder.path(), &Header::new(superstep_trace::Backend::Cuda));
            let capture = capture.expect("the folder can be written");
            let mut out = ToDisk {
                chunk: ChunkBuilder::new(LaunchId(0)),
                stream: capture.stream(StreamId(0)).expect("the file can be made"),
                accesses: 0,
            };
            let mut reader = Reader::new(0);
            let start = Instant::now();
            for (number, piece) in pieces.iter().enumerate() {
                assert_eq!(reader.piece(number as u32, piece, &mut out), 0);
            }
            out.stream
                .flush(&mut out.chunk)
                .expect("the file can be written");
            best = best.min(start.elapsed());
            (stored, accesses) = (capture.written_bytes(), out.accesses);
            assert_eq!(accesses, u64::from(rounds * WARPS * u32::from(SITES) * 32));
        }
        println!(
            "{name:16} {:>12.1} {:>14.4} {:>10.3}",
            accesses as f64 / best.as_secs_f64() / 1e6,
            stored as f64 / accesses as f64,
            wire as f64 / accesses as f64,
        );
    }
}
