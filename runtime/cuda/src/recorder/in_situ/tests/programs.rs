//! Random programs of warp accesses, run by the handler on the host and by the CPU backend.

use super::device::Found;
use crate::recorder::in_situ::layout::{Context, INPUT, UNKNOWN, UNWRITTEN};
use crate::recorder::selection::{launch_bits, words};
use crate::tests::Numbers;
use std::fmt::Write;
use superstep_runtime_core::in_situ::entry::Entry;
use superstep_runtime_core::in_situ::{Accumulator, Shadow};
use superstep_trace::{
    AccessGroup, AllocationKind, CtaRange, Launch, LaunchId, Op, Recorded, Sample, SampleUnit,
    Selection, StreamId, WARP_LANES,
};

pub const LAUNCHES: u32 = 7;
const ACCESSES: u64 = 30;
/// Number of active CTAs, which are the first in a large grid.
const CTAS: u64 = 4;
const GRID: u64 = 1 << 20;
const WARPS: u64 = 3;
const BASE: u64 = 77 << 21;
/// Size of the memory: only a few lines, so that many of them are written or read as a whole.
const BYTES: u64 = 1024;
const LINE: u64 = 128;

pub fn launch(number: u32, kernel: &str) -> Launch {
    Launch {
        sequence: number.into(),
        stream: StreamId(0),
        launch: LaunchId(number),
        kernel: kernel.to_owned(),
        grid: [CTAS as u32, 1, 1],
        block: [1024, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        parent: None,
        device: 0,
    }
}

/// A program in the form that the C++ side reads, and the CPU backend's results for it.
#[derive(Default)]
pub struct Program {
    pub text: String,
    pub expected: Found,
    /// Whether accesses are interleaved and lanes may write the same byte. In that case, each access has its own warp,
    /// so it does not matter which thread writes first.
    pub races: bool,
    /// Whether loads through a cache may miss other threads' latest writes.
    pub is_cached: bool,
    /// The width of all accesses except narrow stores if it is the same, in which case they are aligned.
    width: Option<u64>,
    /// Launches alternate between stores of 4 bytes and loads.
    alternates: bool,
    /// Whether all accesses begin in the same two words, so that they often collide.
    is_crowded: bool,
}

impl Program {
    pub fn random(numbers: &mut Numbers, seed: u64, races: bool) -> Self {
        let width = [4, 8, 16].get(numbers.below(16) as usize).copied();
        let alternates = width.is_some() && numbers.below(2) == 0;
        let is_cached = races || numbers.below(2) == 0;
        // Blocks of one CTA, two CTAs or all CTAs.
        let blocks = (1u32 << (seed % 3)).try_into().unwrap_or_default();
        let mut program = Program {
            races,
            is_cached,
            width,
            alternates,
            is_crowded: races && numbers.below(4) == 0,
            text: format!(
                "n {BASE} {seed} {} {}\nf 0 {BYTES} {UNWRITTEN}\n",
                u8::from(is_cached),
                Context::block_bits(blocks)
            ),
            ..Program::default()
        };
        let (selection, parts) = selection(numbers, seed);
        let selected = words(&selection);
        let _ = write!(program.text, "s {}", selected.len());
        for word in selected {
            let _ = write!(program.text, " {word}");
        }
        program.text += "\n";
        // In half of the programs, only one CTA writes, so that no byte has multiple writers.
        let has_one_writer = numbers.below(2) == 0;
        let shadow = Shadow::default();
        shadow.allocate(BASE, BYTES, &AllocationKind::Device);
        let mut accumulators: [Accumulator; CTAS as usize] = Default::default();
        for number in 0..LAUNCHES {
            program.fill(numbers, &shadow);
            let kernel = numbers.below(2);
            let launch = launch(number, ["a", "b"][kernel as usize]);
            let recorded = parts[numbers.below(parts.len() as u64) as usize];
            let bits = launch_bits(recorded);
            let _ = writeln!(program.text, "l {} {kernel} {bits}", number + 1);
            let running = shadow.begin(number, &launch).expect("it fits");
            let writer = has_one_writer.then(|| numbers.below(CTAS) as u32);
            for warp in 0..numbers.below(ACCESSES) {
                let warp = if races { warp } else { numbers.below(WARPS) };
                let (op, group) = program.access(numbers, writer, (number, warp as u32));
                let takes_cta = || selection.takes_cta(GRID, group.cta.into());
                if recorded == Recorded::All || !recorded.is_nothing() && takes_cta() {
                    accumulators[group.cta as usize].group(&shadow, &running, op, &group);
                }
            }
            for accumulator in &mut accumulators {
                accumulator.finish(&running);
            }
            program.text += "e\n";
            let (sums, parts) = running.found();
            program.expected.add_sums(sums, is_cached);
            let exact_counts = program.has_exact_counts();
            program.expected.add_parts(parts, exact_counts, blocks);
        }
        program.text += "p\n";
        program
    }

    /// Returns whether load counts are exact, which requires that all words are read with the same width.
    pub fn has_exact_counts(&self) -> bool {
        self.width.is_some()
    }

    /// Adds at most one write, by the host or by code that is not traced.
    fn fill(&mut self, numbers: &mut Numbers, shadow: &Shadow) {
        let unit = match numbers.below(6) {
            0 => LINE,
            1 => self.width.unwrap_or(4),
            _ => return,
        };
        let first = unit * numbers.below(BYTES / unit);
        let bytes = (unit * numbers.below(24)).min(BYTES - first);
        let pattern = if numbers.below(4) == 0 {
            shadow.set(BASE + first, bytes, Entry::UNKNOWN);
            UNKNOWN
        } else {
            shadow.set(BASE + first, bytes, Entry::HOST);
            INPUT
        };
        let _ = writeln!(self.text, "f {first} {bytes} {pattern}");
    }

    /// Adds an access by a warp in a random CTA, or in CTA `writer` if the access writes and `writer` is given.
    fn access(
        &mut self,
        numbers: &mut Numbers,
        writer: Option<u32>,
        (launch, warp): (u32, u32),
    ) -> (Op, AccessGroup) {
        let any_width = [1, 2, 4, 4, 8, 16, 3, 12][numbers.below(8) as usize];
        let mut width = self.width.unwrap_or(any_width);
        let ops = [Op::Load, Op::Load, Op::Store, Op::AtomicAdd];
        let mut number = numbers.below(4) as usize;
        if self.alternates {
            number = [2, 1][launch as usize % 2];
        }
        let op = ops[number];
        if self.alternates && op == Op::Store {
            width = 4;
        }
        let any_cta = numbers.below(CTAS) as u32;
        let mut offsets = offsets(numbers, width, self.width.is_some());
        let mask = mask(numbers);
        for (lane, offset) in offsets.iter_mut().enumerate() {
            offset.take_if(|_| mask >> lane & 1 == 0);
            if self.is_crowded {
                *offset = offset.map(|offset| offset % 8);
            }
        }
        if op.writes() && !self.races {
            drop_overlapping(&mut offsets, width);
        }
        let mut group = AccessGroup {
            cta: writer.filter(|_| op.writes()).unwrap_or(any_cta),
            warp,
            width_bytes: width as u32,
            ..AccessGroup::EMPTY
        };
        let letter = if self.races && numbers.below(2) == 0 {
            'w'
        } else {
            'a'
        };
        let mut text = String::new();
        for (lane, offset) in offsets.iter().enumerate() {
            if let Some(offset) = offset {
                group.addresses[group.lanes()] = BASE + offset;
                group.mask |= 1 << lane;
                let _ = write!(text, " {offset}");
            }
        }
        let (cta, thread, operation) = (group.cta, 32 * warp, number.max(1));
        let _ = writeln!(
            self.text,
            "{letter} {cta} {thread} {operation} {width} {:x}{text}",
            group.mask
        );
        (op, group)
    }
}

/// Returns a selection of CTAs and the values of `Recorded` to choose from (in half of the cases, only `All`).
fn selection(numbers: &mut Numbers, seed: u64) -> (Selection, &'static [Recorded]) {
    let first = numbers.below(CTAS) as u32;
    let range = CtaRange {
        first,
        last: first + 1,
    };
    let sample = Sample {
        unit: SampleUnit::Ctas,
        rate_per_million: 500_000,
        seed,
    };
    let is_sample = numbers.below(2) == 0;
    let selection = Selection {
        ctas: Vec::from_iter((!is_sample).then_some(range)),
        sample: is_sample.then_some(sample),
        ..Selection::default()
    };
    let parts: &[_] = match numbers.below(4) {
        0 => &[Recorded::SelectedCtas],
        1 => &[Recorded::All, Recorded::SelectedCtas, Recorded::NotSampled],
        _ => &[Recorded::All],
    };
    (selection, parts)
}

/// Returns an offset for each lane. They are consecutive, equal, equidistant or random, and not always aligned.
fn offsets(numbers: &mut Numbers, width: u64, is_aligned: bool) -> [Option<u64>; WARP_LANES] {
    let distances = [4, 8, 16, 20, 32, LINE];
    let any_line = LINE * numbers.below(BYTES / LINE);
    let any = numbers.below(BYTES);
    let (first, distance) = match numbers.below(8) {
        0..=2 => (any_line, width),
        3 => (any, width),
        4 => (any, 0),
        5 | 6 => (any, distances[numbers.below(6) as usize]),
        _ => (any, BYTES),
    };
    let is_aligned = is_aligned || numbers.below(4) > 0;
    let shift = if is_aligned { 0 } else { numbers.below(4) };
    let unit = match (is_aligned, width) {
        (true, 12) => 4,
        (true, width) if width.is_power_of_two() => width,
        _ => 1,
    };
    std::array::from_fn(|lane| {
        let at = match distance {
            BYTES => numbers.below(BYTES),
            _ => first + shift + distance * lane as u64,
        };
        let at = at % (BYTES - width + 1);
        Some(at - at % unit)
    })
}

/// Returns a mask of all or some lanes.
fn mask(numbers: &mut Numbers) -> u32 {
    let random = numbers.below(1 << 31) as u32;
    match numbers.below(6) {
        0..=2 => u32::MAX,
        3 => random << 1 | 1,
        4 => u32::MAX >> numbers.below(32),
        _ => 1 << numbers.below(32),
    }
}

/// Drops lanes that share a byte with an earlier lane.
fn drop_overlapping(offsets: &mut [Option<u64>; WARP_LANES], width: u64) {
    let mut taken = [false; BYTES as usize];
    for offset in offsets {
        offset.take_if(|offset| {
            let bytes = &mut taken[*offset as usize..][..width as usize];
            let is_taken = bytes.contains(&true);
            if !is_taken {
                bytes.fill(true);
            }
            is_taken
        });
    }
}
