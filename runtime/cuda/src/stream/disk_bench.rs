//! From records in memory to a file, on one core: that all accesses arrive, and how fast.
//!
//! `SUPERSTEP_BENCH_SECONDS=2 cargo test --release -p superstep-cuda --lib -- --nocapture to_disk`, and with
//! `SUPERSTEP_BENCH_PATTERN=random` only the pattern of that name.

use super::wire::{Emit, Reader};
use super::wire_tests::record;
use std::time::{Duration, Instant};
use superstep_trace::{
    AccessGroup, CaptureWriter, ChunkBuilder, Header, LaunchId, Offsets, StreamId,
};

const PIECE_BYTES: usize = 64 << 10;
/// Warps that write by turns: those of an SM's eight CTAs of `suites/bench`.
const WARPS: u32 = 64;
/// Loads of a warp in a round.
const STEPS: u32 = 8;
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
    fn near<const N: usize>(&mut self, group: &AccessGroup, base: u64, offsets: Offsets<'_, N>) {
        self.chunk.push_near(group, base, offsets);
        self.write_if_full();
    }
    #[inline(always)]
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

/// Rodinia's heartwall: each lane has an element of a convolution of 51 by 51 with 81 by 81 elements, and goes over all pairs that
/// make it, column by column. Columns have different lengths, so the lanes are apart.
fn convolution(thread: u32, step: u32) -> u64 {
    const ROWS: u32 = 51;
    const MORE_ROWS: u32 = 81;
    const SUMS: u32 = ROWS + MORE_ROWS - 1;
    let overlap = |i: u32| {
        (
            i.saturating_sub(MORE_ROWS),
            i.min(ROWS) - i.saturating_sub(MORE_ROWS),
        )
    };
    let (mut element, mut left) = (thread % 256, step + 20_000);
    loop {
        let (i, j) = (element % SUMS + 1, element / SUMS % SUMS + 1);
        let ((first_row, rows), (first_column, columns)) = (overlap(i), overlap(j));
        if left < rows * columns {
            let row = i - 1 - first_row - left % rows;
            let column = j - 1 - first_column - left / rows;
            return (u64::from(thread / 256) << 20) + u64::from(MORE_ROWS * column + row) * 4;
        }
        left -= rows * columns;
        element += 256;
    }
}

/// Name, unrolled loads of a loop, each a site, and addresses. The first three are those of `suites/bench`.
const PATTERNS: [(&str, u32, Pattern); 6] = [
    ("coalesced", 8, |thread, step| {
        u64::from(thread.wrapping_add(step * CTAS * 256) % (1 << 24)) * 4
    }),
    ("broadcast", 8, |thread, step| {
        u64::from((thread / 32).wrapping_add(step * CTAS * 8) % (1 << 24)) * 4
    }),
    ("scattered", 8, |thread, step| {
        u64::from(lcg(thread.wrapping_mul(2_654_435_761), step) >> 8) * 4
    }),
    ("random", 8, |thread, step| {
        mix(u64::from(thread) << 32 | u64::from(step)) % (1 << 24) * 4
    }),
    ("random in 4 KiB", 8, |thread, step| {
        let at = mix(u64::from(thread) << 32 | u64::from(step)) % (1 << 10) * 4;
        at + u64::from(thread / 32 % 512 + step % 16 * 512) * 4096
    }),
    ("heartwall", 1, convolution),
];

/// The pieces that a ring brings of `rounds` rounds.
fn pieces(pattern: Pattern, sites: u32, rounds: u32) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for round in 0..rounds {
        for warp in 0..WARPS {
            for step in round * STEPS..(round + 1) * STEPS {
                let thread = |lane: u32| (warp / 8 * 132 * 256 + warp % 8 * 32) + lane;
                let group = AccessGroup {
                    site: superstep_trace::SiteId::new(0, (step % sites) as u16),
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

    let only = std::env::var("SUPERSTEP_BENCH_PATTERN").ok();
    let is_wanted = |name| only.as_deref().is_none_or(|only| only == name);
    for (name, sites, pattern) in PATTERNS.into_iter().filter(|(name, ..)| is_wanted(*name)) {
        let pieces = pieces(pattern, sites, rounds);
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
            assert_eq!(accesses, u64::from(rounds * WARPS * STEPS * 32));
        }
        println!(
            "{name:16} {:>12.1} {:>14.4} {:>10.3}",
            accesses as f64 / best.as_secs_f64() / 1e6,
            stored as f64 / accesses as f64,
            wire as f64 / accesses as f64,
        );
    }
}
