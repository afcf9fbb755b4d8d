//! Captures for tests.
#![allow(dead_code)]

pub mod documented;

use proptest::prelude::*;
use std::path::Path;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::*;

/// Returns the sites that [`any_group`] uses: indices 0 to 14 in module 1, one for each operation and one of
/// varying width.
pub fn module() -> ModuleTable {
    let site = |(local, op)| Site {
        id: SiteId::new(1, local),
        ..testing::site(local, op)
    };
    let ops = Op::ALL.into_iter().chain([Op::Load]);
    let sites = (0..).zip(ops).map(site).collect();
    testing::module("kernel.cu", sites, &[("_Z6kernelPf", "kernel")])
}

pub fn launch() -> Launch {
    Launch {
        grid: [7, 3, 2],
        block: [16, 8, 1],
        static_shared_bytes: 128,
        ..testing::launch("_Z6kernelPf", 1, 1)
    }
}

/// Allocates two blocks and a symbol, 64 KiB each, at `base`, `base + 1 MiB` and `base + 2 MiB`.
fn allocate(capture: &mut CaptureBuilder, base: u64) {
    let symbol = AllocationKind::Symbol {
        name: "table".into(),
    };
    let kinds = [AllocationKind::Device, AllocationKind::Managed, symbol];
    for (index, kind) in (0..).zip(kinds) {
        capture.allocate(base + (index << 20), 64 << 10, kind);
    }
}

/// Generates 16-byte aligned addresses in the allocations.
fn any_address(base: u64) -> impl Strategy<Value = u64> {
    (0u64..3, 0u64..4080)
        .prop_map(move |(allocation, index)| base + (allocation << 20) + index * 16)
}

/// Generates groups in the grid of [`launch`], at the sites of [`module`], in the memory that [`write`] allocates.
pub fn any_group(base: u64) -> impl Strategy<Value = AccessGroup> {
    let addresses = prop_oneof![
        proptest::array::uniform32(any_address(base)),
        (any_address(base), 0u64..3)
            .prop_map(|(base, log)| std::array::from_fn(|lane| base + ((lane as u64) << log))),
    ];
    let width = prop_oneof![Just(4u32), 0u32..1000];
    (
        0u16..15,
        0u32..42,
        0u32..4,
        0u32..8,
        any::<u32>(),
        width,
        addresses,
    )
        .prop_map(
            |(site, cta, warp, sm, mask, width_bytes, addresses)| AccessGroup {
                site: SiteId::new(1, site),
                cta,
                warp,
                sm,
                mask: mask | 1,
                width_bytes,
                addresses,
            },
        )
}

/// Generates groups from a typical loop, whose lanes advance, leave it, and use the same index in multiple allocations.
pub fn any_loop(base: u64) -> impl Strategy<Value = Vec<AccessGroup>> {
    let site = (0u64..4, 0u32..6);
    let sites = proptest::collection::vec(site, 1..5);
    (sites, 1u64..10, 1u32..4, any::<[u32; 4]>(), any::<bool>()).prop_map(
        move |(sites, rounds, warps, masks, narrows)| {
            let index = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
            let mut groups = Vec::new();
            for (warp, round) in (0..warps).flat_map(|warp| (0..rounds).map(move |r| (warp, r))) {
                let leaving = masks[warp as usize]
                    .checked_shl(2 * round as u32)
                    .unwrap_or(0);
                let mask = if narrows { leaving | 1 << 31 } else { u32::MAX };
                for (number, &(log, kind)) in (0u16..).zip(&sites) {
                    let start = base + (u64::from(number % 3) << 20);
                    let moved = round * 64 + u64::from(warp) * 512;
                    let address = |lane: u64| match kind {
                        0 => start + moved + (lane << log),
                        1 => start + moved,
                        2 => start + moved + (index(lane) << log),
                        // Lanes in different iterations.
                        5 => start + ((lane % 3 + round % (2 + lane % 7)) << log),
                        3 => start + (index(lane ^ moved ^ u64::from(number)) << log),
                        _ => start + (index(lane ^ moved) << log),
                    };
                    let active = (0..32).filter(|lane| mask >> lane & 1 != 0);
                    let mut addresses = [0; 32];
                    for (out, lane) in addresses.iter_mut().zip(active) {
                        *out = address(lane);
                    }
                    groups.push(AccessGroup {
                        site: SiteId::new(1, number),
                        cta: warp / 2,
                        warp: warp % 2,
                        sm: 3,
                        mask,
                        width_bytes: 1 << log,
                        addresses,
                    });
                }
            }
            groups
        },
    )
}

/// Writes a finished capture. Each entry in `launches` is a launch in stream 0, and each of its entries is a chunk.
pub fn write(folder: &Path, base: u64, launches: &[Vec<Vec<AccessGroup>>]) -> Capture {
    let mut capture = CaptureBuilder::new(folder, &module());
    allocate(&mut capture, base);
    for chunks in launches {
        capture.launch(launch(), chunks);
    }
    capture.finish()
}

/// Returns the groups before the first error, with their launch numbers, and that error.
pub fn groups(capture: &Capture) -> (Vec<(u32, AccessGroup)>, Option<TraceError>) {
    let mut all = Vec::new();
    let result = capture.groups(|record, group| all.push((record.launch.launch.0, *group)));
    (all, result.err())
}
