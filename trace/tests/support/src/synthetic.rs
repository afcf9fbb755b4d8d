//! Synthetic programs for benchmarks, and a simple analysis as a reference for the engine.

use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use superstep_analysis::SiteOps;
use superstep_analysis::communication::{Engine, MemoryLimit, Options};
use superstep_trace::digest::mix;
use superstep_trace::{
    AccessGroup, Backend, Cancellation, CaptureWriter, ChunkBuilder, Event, Header, Launch,
    LaunchId, Op, Outcome, SiteId, StreamId, TraceError,
};

/// Addresses of the two arrays. Site 0 loads, and site 1 stores.
const ARRAY: [u64; 2] = [0x7f00_0000_0000, 0x7f10_0000_0000];
const THREADS: u64 = 256;
const PAGE_WORDS: u64 = 1024;
/// Accesses per thread: seven loads and a store.
pub const ACCESSES_PER_THREAD: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A stencil like hotspot 3D: each thread performs seven coalesced loads of neighbours and a store, alternating
    /// between two arrays.
    Regular,
    /// Seven random loads and a random store by each thread.
    Scattered,
    /// Like the previous pattern, but four of the loads access the first page, which receives half of all accesses.
    OnePage,
}

pub fn ops() -> SiteOps {
    SiteOps::from_pairs([(SiteId(0), Op::Load), (SiteId(1), Op::Store)])
}

/// Returns launch `number` with one thread for each of `words` words.
pub fn launch(number: u32, words: u64) -> Launch {
    Launch {
        sequence: u64::from(number) + 1,
        launch: LaunchId(number),
        ..crate::launch("step", (words / THREADS) as u32, THREADS as u32)
    }
}

fn fill(group: &mut AccessGroup, site: u32, thread: u64, address: impl Fn(u64) -> u64) {
    group.site = SiteId(site);
    group.cta = (thread / THREADS) as u32;
    group.warp = (thread % THREADS / 32) as u32;
    (group.mask, group.width_bytes) = (u32::MAX, 4);
    for (lane, slot) in (0..).zip(&mut group.addresses) {
        *slot = address(thread + lane);
    }
}

/// Passes the accesses of the warp that starts with `thread` in launch `number` to `sink`. The arrays have `words`
/// words.
pub fn warp(
    pattern: Pattern,
    number: u32,
    thread: u64,
    words: u64,
    mut sink: impl FnMut(&AccessGroup),
) {
    let (from, to) = (ARRAY[number as usize % 2], ARRAY[(number as usize + 1) % 2]);
    let mut group = AccessGroup::EMPTY;
    match pattern {
        Pattern::Regular => {
            let neighbours: [i64; 7] = [0, -1, 1, -512, 512, -512 * 512, 512 * 512];
            for offset in neighbours {
                fill(&mut group, 0, thread, |t| {
                    from + 4 * (t as i64 + offset).rem_euclid(words as i64) as u64
                });
                sink(&group);
            }
            fill(&mut group, 1, thread, |t| to + 4 * t);
        }
        Pattern::Scattered | Pattern::OnePage => {
            let word = |k: u64, t: u64| {
                let is_in_page = pattern == Pattern::OnePage && k.is_multiple_of(2);
                let words = if is_in_page { PAGE_WORDS } else { words };
                mixed(t * 8 + k) % words
            };
            for k in 0..7 {
                fill(&mut group, 0, thread, |t| from + 4 * word(k, t));
                sink(&group);
            }
            fill(&mut group, 1, thread, |t| to + 4 * word(7, t));
        }
    }
    sink(&group);
}

/// A program: launches with their groups in chunks.
pub type Program = Vec<(Launch, Vec<Vec<AccessGroup>>)>;

pub fn accesses(program: &Program) -> u64 {
    let chunks = program.iter().flat_map(|(_, chunks)| chunks);
    let groups = chunks.flatten();
    groups.map(|group| group.lanes() as u64).sum()
}

/// Returns a program of `launches` launches over arrays of `words` words, in memory.
pub fn program(pattern: Pattern, launches: u32, words: u64) -> Program {
    (0..launches)
        .map(|number| {
            let mut chunks = vec![Vec::new()];
            for thread in (0..words).step_by(32) {
                if chunks.last().is_some_and(|chunk| chunk.len() >= 16_384) {
                    chunks.push(Vec::new());
                }
                if let Some(chunk) = chunks.last_mut() {
                    warp(pattern, number, thread, words, |group| chunk.push(*group));
                }
            }
            (launch(number, words), chunks)
        })
        .collect()
}

/// Writes a capture of `launches` launches over arrays of `words` words. `pattern` returns the pattern of a launch.
pub fn write(
    folder: &Path,
    launches: u32,
    words: u64,
    pattern: impl Fn(u32) -> Pattern + Sync,
) -> std::result::Result<(), TraceError> {
    let writer = CaptureWriter::create(folder, &Header::new(Backend::Cpu))?;
    let sites = vec![crate::site(0, Op::Load), crate::site(1, Op::Store)];
    writer.module(&crate::module("synthetic.cu", sites, &[]))?;
    let stream = writer.stream(StreamId(0))?;
    for number in 0..launches {
        writer.event(&Event::Launch(launch(number, words)))?;
        let pattern = pattern(number);
        // Threads per chunk, as for a worker of the CPU backend.
        let threads = match pattern {
            Pattern::Regular => 1 << 18,
            Pattern::Scattered | Pattern::OnePage => 1 << 13,
        };
        (0..words.div_ceil(threads))
            .into_par_iter()
            .try_for_each(|part| {
                let mut builder = ChunkBuilder::new(LaunchId(number));
                let end = words.min((part + 1) * threads);
                for thread in (part * threads..end).step_by(32) {
                    warp(pattern, number, thread, words, |group| builder.push(group));
                }
                stream.flush(&mut builder)
            })?;
    }
    writer.finish(&Outcome::Finished)
}

fn mixed(value: u64) -> u64 {
    mix(value.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// Quantities that both analyses compute: communicated bytes loaded, bytes received, communicated bytes stored.
pub type Sums = (u64, u64, u64);

/// Runs the engine on a program in memory.
pub fn engine(program: &Program, options: Options) -> superstep_analysis::Result<Sums> {
    let mut engine = Engine::new(
        ops(),
        options,
        &MemoryLimit::none(),
        Cancellation::default(),
    );
    for (launch, chunks) in program {
        engine.launch(launch, chunks)?;
    }
    let total = engine.finish()?.communication.total;
    Ok((
        total.communicated_loaded_bytes,
        total.received_bytes,
        total.communicated_stored_bytes,
    ))
}

/// Analyses a program with one thread and hash maps with one entry per address, as in the thesis. Unlike the engine, it
/// supports only aligned words of a single kernel.
pub fn simple(program: &Program) -> Sums {
    let (mut loaded, mut received, mut stored) = (0, 0, 0);
    // Address → writers in the last launch that wrote it, each with a flag: whether another CTA has read its value.
    let mut last: HashMap<u64, Vec<(u32, bool)>> = HashMap::new();
    for (_, chunks) in program {
        let mut now: HashMap<u64, Vec<(u32, bool)>> = HashMap::new();
        let mut seen: HashSet<(u32, u64)> = HashSet::new();
        for group in chunks.iter().flatten() {
            for &address in group.active_addresses() {
                if group.site == SiteId(1) {
                    let writers = now.entry(address).or_default();
                    if !writers.iter().any(|&(cta, _)| cta == group.cta) {
                        writers.push((group.cta, false));
                    }
                } else if let Some(writers) = last.get_mut(&address) {
                    let is_new = seen.insert((group.cta, address));
                    let mut others = 0;
                    for (_, read) in writers.iter_mut().filter(|(cta, _)| *cta != group.cta) {
                        others += 1;
                        if !*read {
                            *read = true;
                            stored += 4;
                        }
                    }
                    loaded += if others > 0 { 4 } else { 0 };
                    received += if is_new { 4 * others } else { 0 };
                }
            }
        }
        last.extend(now);
    }
    (loaded, received, stored)
}
