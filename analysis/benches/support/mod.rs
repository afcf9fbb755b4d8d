//! Synthetic launches and the straightforward analysis that the engine is compared with.

use std::collections::{HashMap, HashSet};
use superstep_analysis::SiteOps;
use superstep_trace::{AccessGroup, Launch, LaunchId, Op, SiteId, StreamId};

/// Words of each of the two arrays.
pub const WORDS: u64 = 512 * 512 * 4;
const ARRAY: [u64; 2] = [0x7f00_0000_0000, 0x7f10_0000_0000];
const THREADS: u64 = 256;

/// Site 0 loads, site 1 stores.
pub fn ops() -> SiteOps {
    SiteOps::from_pairs([(SiteId(0), Op::Load), (SiteId(1), Op::Store)])
}

/// A program: launches with their groups in chunks.
pub type Program = Vec<(Launch, Vec<Vec<AccessGroup>>)>;

/// Thread accesses of a program.
pub fn accesses(program: &Program) -> u64 {
    let groups = program
        .iter()
        .flat_map(|(_, chunks)| chunks.iter().flatten());
    groups.map(|group| group.lanes() as u64).sum()
}

fn launch(number: u32) -> Launch {
    Launch {
        sequence: u64::from(number) + 1,
        stream: StreamId(0),
        launch: LaunchId(number),
        kernel: "step".to_owned(),
        grid: [(WORDS / THREADS) as u32, 1, 1],
        block: [THREADS as u32, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
    }
}

fn group(site: u32, thread: u64, address: impl Fn(u64) -> u64) -> AccessGroup {
    let mut group = AccessGroup {
        site: SiteId(site),
        cta: (thread / THREADS) as u32,
        warp: (thread % THREADS / 32) as u32,
        mask: u32::MAX,
        width_bytes: 4,
        ..AccessGroup::EMPTY
    };
    for lane in 0..32 {
        group.addresses[lane as usize] = address(thread + lane);
    }
    group
}

/// A stencil in the manner of hotspot 3D: seven loads of neighbours and a store by each thread, coalesced, ping-pong
/// between two arrays.
pub fn regular(launches: u32) -> Program {
    let neighbours: [i64; 7] = [0, -1, 1, -512, 512, -512 * 512, 512 * 512];
    program(launches, |number, thread, chunk| {
        let (from, to) = (ARRAY[number as usize % 2], ARRAY[(number as usize + 1) % 2]);
        for offset in neighbours {
            chunk.push(group(0, thread, |t| {
                from + 4 * (t as i64 + offset).rem_euclid(WORDS as i64) as u64
            }));
        }
        chunk.push(group(1, thread, |t| to + 4 * t));
    })
}

/// Seven loads from anywhere and a store anywhere by each thread.
pub fn scattered(launches: u32) -> Program {
    program(launches, |number, thread, chunk| {
        let (from, to) = (ARRAY[number as usize % 2], ARRAY[(number as usize + 1) % 2]);
        for k in 0..7 {
            chunk.push(group(0, thread, |t| from + 4 * (mixed(t * 8 + k) % WORDS)));
        }
        chunk.push(group(1, thread, |t| to + 4 * (mixed(t * 8 + 7) % WORDS)));
    })
}

fn program(launches: u32, warp: impl Fn(u32, u64, &mut Vec<AccessGroup>)) -> Program {
    (0..launches)
        .map(|number| {
            let mut chunks = vec![Vec::new()];
            for thread in (0..WORDS).step_by(32) {
                if chunks.last().is_some_and(|chunk| chunk.len() >= 16_384) {
                    chunks.push(Vec::new());
                }
                if let Some(chunk) = chunks.last_mut() {
                    warp(number, thread, chunk);
                }
            }
            (launch(number), chunks)
        })
        .collect()
}

/// The finaliser of SplitMix64.
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What both analyses are compared by: communicated bytes loaded, bytes received, communicated bytes stored.
pub type Result = (u64, u64, u64);

/// One thread and hash maps with one entry an address, as in the thesis. It knows aligned words of a single kernel only,
/// which is less than the engine does.
pub fn simple(program: &Program) -> Result {
    let (mut loaded, mut received, mut stored) = (0, 0, 0);
    // Address → writers of the last launch that wrote it, each with whether another CTA has read it.
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
                    let fresh = seen.insert((group.cta, address));
                    let mut others = 0;
                    for (_, read) in writers.iter_mut().filter(|(cta, _)| *cta != group.cta) {
                        others += 1;
                        if !*read {
                            *read = true;
                            stored += 4;
                        }
                    }
                    loaded += if others > 0 { 4 } else { 0 };
                    received += if fresh { 4 * others } else { 0 };
                }
            }
        }
        last.extend(now);
    }
    (loaded, received, stored)
}
