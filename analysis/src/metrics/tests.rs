//! Compares metrics with simple implementations on generated transfers, and with results derived by hand.

use super::density::Axis;
use super::*;
use crate::communication::Transfer;
use crate::communication::{Engine, KernelVolume, LaunchVolume, MemoryLimit, Options, Volume};
use crate::sites::SiteOps;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use superstep_trace::{AccessGroup, Cancellation, Launch, LaunchId, Op, SiteId, StreamId};

const GRIDS: [[u32; 3]; 4] = [[3, 4, 2], [24, 1, 1], [5, 5, 1], [3, 4, 2]];
const KERNELS: [&str; 4] = ["f", "g", "h", "f"];

fn launches() -> (Vec<LaunchVolume>, Vec<KernelVolume>) {
    let launch = |number: usize| LaunchVolume {
        stream: StreamId(0),
        superstep: LaunchId(number as u32),
        kernel: KERNELS[number].to_owned(),
        volume: Volume::default(),
    };
    let kernel = |name: &str| KernelVolume {
        kernel: name.to_owned(),
        launches: 1,
        volume: Volume::default(),
    };
    (
        (0..4).map(launch).collect(),
        ["f", "g", "h"].map(kernel).to_vec(),
    )
}

fn any_transfers() -> impl Strategy<Value = Vec<Transfer>> {
    let transfer = (0u32..3, 0u32..24, 0u32..3, 0u32..24, 1u64..9, 1u64..4);
    prop::collection::vec(transfer, 0..80).prop_map(|all| {
        let mut map = BTreeMap::new();
        for (source, source_cta, step, receiver_cta, bytes, count) in all {
            let receiver = (source + 1 + step).min(3);
            map.insert((source, source_cta, receiver, receiver_cta), (bytes, count));
        }
        (map.into_iter())
            .map(
                |((source, source_cta, receiver, receiver_cta), (bytes, count))| Transfer {
                    source_launch: source,
                    source_cta,
                    receiver_launch: receiver,
                    receiver_cta,
                    bytes,
                    count,
                },
            )
            .collect()
    })
}

/// Returns a CTA's x, y and z by counting.
fn coordinates(launch: u32, cta: u32) -> [u32; 3] {
    let grid = GRIDS[launch as usize];
    let mut at = [0; 3];
    for _ in 0..cta {
        at[0] += 1;
        for d in 0..2 {
            if at[d] == grid[d] {
                at[d] = 0;
                at[d + 1] += 1;
            }
        }
    }
    at
}

/// Returns a CTA's position among all CTAs in the grid, ordered by x, then y, then z.
fn rank(launch: u32, cta: u32) -> u64 {
    let [gx, gy, gz] = GRIDS[launch as usize];
    let mut all: Vec<[u32; 3]> = (0..gx * gy * gz)
        .map(|cta| coordinates(launch, cta))
        .collect();
    all.sort_unstable();
    all.iter()
        .position(|&at| at == coordinates(launch, cta))
        .unwrap() as u64
}

proptest! {
    #[test]
    fn metrics_equal_their_definitions(transfers in any_transfers()) {
        let (launches, kernels) = launches();
        let communication = Communication { launches, kernels, transfers: transfers.clone().into(), ..Communication::default() };
        let analysis = Analysis { communication, ..Analysis::default() };
        let sites = SiteTable::default();
        let density = Some(CtaWindow { sources: 3..=11, receivers: 0..=99 });
        let settings = Settings { density, ..Settings::default() };
        let metrics = Metrics::of(&Source::new(&analysis, &GRIDS, &sites), &settings).unwrap();

        for row in &metrics.transfer_sizes {
            let count = |f: &dyn Fn(u64) -> bool| transfers.iter().filter(|t| f(t.bytes)).count();
            prop_assert_eq!(row.transfers as usize, count(&|bytes| bytes == row.size_bytes));
            let below = count(&|bytes| bytes <= row.size_bytes) as f64 / transfers.len() as f64;
            prop_assert!((row.cumulative_share - below).abs() < 1e-12);
        }
        prop_assert_eq!(metrics.transfer_sizes.iter().map(|r| r.transfers).sum::<u64>(), transfers.len() as u64);

        let mut out: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        let mut into: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for t in &transfers {
            let kernel = KERNELS[t.receiver_launch as usize];
            out.entry((t.source_launch, t.source_cta, kernel)).or_default().insert(t.receiver_cta);
            into.entry((t.receiver_cta, t.source_launch)).or_default().insert(t.source_cta);
        }
        let out_degrees: Vec<usize> = out.values().map(BTreeSet::len).collect();
        let in_degrees: Vec<usize> = into.values().map(BTreeSet::len).collect();
        for (direction, degrees) in [("out", &out_degrees), ("in", &in_degrees)] {
            let rows: Vec<_> = metrics.degrees.iter().filter(|row| row.direction == direction).collect();
            for (index, row) in rows.iter().enumerate() {
                let end = rows.get(index + 1).map_or(u64::MAX, |next| next.bin);
                let count = degrees.iter().filter(|&&d| (row.bin..end).contains(&(d as u64))).count();
                prop_assert_eq!(row.entries as usize, count);
            }
        }
        for row in &metrics.connectivity {
            let degrees: Vec<f64> = (out.iter())
                .filter(|((launch, _, _), _)| *launch == row.superstep)
                .map(|(_, set)| set.len() as f64)
                .collect();
            let mean = degrees.iter().sum::<f64>() / degrees.len() as f64;
            let square = degrees.iter().map(|d| d * d).sum::<f64>() / degrees.len() as f64;
            prop_assert_eq!(row.entries as usize, degrees.len());
            prop_assert!((row.mean - mean).abs() < 1e-9);
            prop_assert!((row.deviation.powi(2) - (square - mean * mean)).abs() < 1e-9);
        }

        for (d, row) in metrics.bisection.iter().enumerate() {
            let ends = |t: &Transfer| (coordinates(t.source_launch, t.source_cta)[d], coordinates(t.receiver_launch, t.receiver_cta)[d]);
            let used: BTreeSet<u32> = transfers.iter().map(ends).flat_map(|(a, b)| [a, b]).collect();
            let first = |count| used.iter().copied().take(count).collect::<BTreeSet<u32>>();
            let (low, low_or_middle) = (first(used.len() / 2), first(used.len().div_ceil(2)));
            let sum = |f: &dyn Fn(u32, u32) -> bool| -> u64 {
                transfers.iter().filter(|t| { let (a, b) = ends(t); f(a, b) }).map(|t| t.bytes).sum()
            };
            prop_assert_eq!(row.coordinates as usize, used.len());
            prop_assert_eq!(row.crossing_bytes, sum(&|a, b| low.contains(&a) ^ low.contains(&b)));
            prop_assert_eq!(row.as_published_bytes, sum(&|a, b| match low_or_middle.contains(&a) {
                true => b > a,
                false => low_or_middle.contains(&b),
            }));
        }

        let mut cells: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for t in &transfers {
            let cell = (rank(t.receiver_launch, t.receiver_cta), rank(t.source_launch, t.source_cta));
            *cells.entry(cell).or_default() += t.count;
        }
        // There are at most 25 CTAs, so both maps show each of them.
        for map in ["first", "whole"] {
            let found: BTreeMap<(u64, u64), u64> = (metrics.density.iter())
                .filter(|row| row.map == map)
                .map(|row| ((row.receiver, row.source), row.count))
                .collect();
            prop_assert_eq!(&found, &cells);
        }
        // The receivers' window is cut off at the end of the largest grid.
        let largest = GRIDS.iter().map(|grid| grid.iter().product::<u32>()).max().unwrap();
        let part: Vec<_> = metrics.density.iter().filter(|row| row.map == "part").collect();
        let axes = [Axis { first: 3, ctas: 9 }, Axis { first: 0, ctas: u64::from(largest) }];
        prop_assert!(part.iter().all(|row| row.axes() == axes));
        let found: BTreeMap<(u64, u64), u64> = (part.iter())
            .filter(|row| row.count > 0)
            .map(|row| ((row.receiver, row.source + 3), row.count))
            .collect();
        cells.retain(|&(_, source), _| (3..=11).contains(&source));
        prop_assert_eq!(found, cells);
    }
}

/// One launch of a program that accesses single words.
pub(super) struct Step {
    pub(super) kernel: &'static str,
    pub(super) grid: [u32; 3],
    /// (CTA, operation, address)
    pub(super) accesses: Vec<(u32, Op, u64)>,
}

/// Returns the engine's results and the grids.
pub(super) fn source_of(program: &[Step]) -> (Analysis, Vec<[u32; 3]>) {
    let ops = SiteOps::from_pairs([(SiteId(0), Op::Load), (SiteId(1), Op::Store)]);
    let (options, limit) = (Options::everything(), MemoryLimit::none());
    let mut engine = Engine::new(ops, options, &limit, Cancellation::default());
    let mut grids = Vec::new();
    for (number, step) in program.iter().enumerate() {
        let launch = Launch {
            sequence: number as u64,
            stream: StreamId(0),
            launch: LaunchId(number as u32),
            kernel: step.kernel.to_owned(),
            grid: step.grid,
            block: [32, 1, 1],
            dynamic_shared_bytes: 0,
            static_shared_bytes: 0,
            parent: None,
            device: 0,
        };
        let groups: Vec<AccessGroup> = (step.accesses.iter())
            .map(|&(cta, op, address)| {
                let site = SiteId(u32::from(op == Op::Store));
                let mut group = AccessGroup {
                    site,
                    cta,
                    mask: 1,
                    width_bytes: 4,
                    ..AccessGroup::EMPTY
                };
                group.addresses[0] = address;
                group
            })
            .collect();
        engine.launch(&launch, vec![groups]).unwrap();
        grids.push(step.grid);
    }
    let analysis = Analysis {
        communication: engine.finish().unwrap().communication,
        ..Analysis::default()
    };
    (analysis, grids)
}

fn metrics(program: &[Step]) -> Metrics {
    metrics_with(program, &Settings::default())
}

pub(super) fn metrics_with(program: &[Step], settings: &Settings) -> Metrics {
    let (analysis, grids) = source_of(program);
    let sites = SiteTable::default();
    Metrics::of(&Source::new(&analysis, &grids, &sites), settings).unwrap()
}

fn entries(metrics: &Metrics, direction: &str) -> Vec<(u64, u64)> {
    (metrics.degrees.iter())
        .filter(|row| row.direction == direction && row.entries > 0)
        .map(|row| (row.bin, row.entries))
        .collect()
}

/// Two-dimensional Hotspot: 4 × 4 tiles of 2 × 2 cells; in each of 3 steps, a CTA reads its tile and a 1-cell border.
#[test]
fn stencil_ctas_communicate_with_their_neighbours() {
    let (tiles, side) = (4u32, 2i64);
    let cells = i64::from(tiles) * side;
    let plane = |step: usize| 0x1_0000 + (step as u64 % 2) * 0x1_0000;
    let address = |base: u64, x: i64, y: i64| base + 4 * (y * cells + x) as u64;
    let program: Vec<Step> = (0..3)
        .map(|step| {
            let mut accesses = Vec::new();
            for cta in 0..tiles * tiles {
                let (left, top) = (i64::from(cta % tiles) * side, i64::from(cta / tiles) * side);
                let inside = |at: i64| (0..cells).contains(&at);
                for y in (top - 1..=top + side).filter(|&y| inside(y)) {
                    for x in (left - 1..=left + side).filter(|&x| inside(x)) {
                        accesses.push((cta, Op::Load, address(plane(step), x, y)));
                    }
                }
                for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    accesses.push((cta, Op::Store, address(plane(step + 1), left + x, top + y)));
                }
            }
            Step {
                kernel: "hotspot",
                grid: [tiles, tiles, 1],
                accesses,
            }
        })
        .collect();
    let found = metrics(&program);
    // Pairs of neighbours, both ways, two steps: 24 edges, 18 corners.
    let sizes: Vec<_> = found
        .transfer_sizes
        .iter()
        .map(|r| (r.size_bytes, r.transfers))
        .collect();
    assert_eq!(sizes, [(4, 2 * 2 * 18), (8, 2 * 2 * 24)]);
    // 4 corner tiles have 3 neighbours, 8 edge tiles have 5, and 4 inner tiles have 8.
    assert_eq!(entries(&found, "out"), [(2, 2 * 4), (4, 2 * 8), (8, 2 * 4)]);
    assert_eq!(entries(&found, "in"), entries(&found, "out"));
    // A step moves 2 · (24 · 8 + 18 · 4) = 528 bytes. Across the middle: 4 edges and 6 corners, both ways, 112 bytes.
    for row in &found.bisection[..2] {
        assert_eq!(
            (row.coordinates, row.cut, row.crossing_bytes),
            (4, 2, 2 * 112)
        );
        assert!((row.share - 112.0 / 528.0).abs() < 1e-12);
        // As published, also from column 0 to column 1: half of the volume between the two columns.
        assert_eq!(row.as_published_bytes, 2 * (56 + 56 + 56));
    }
    assert_eq!(found.bisection[2].crossing_bytes, 0);
    let volumes: Vec<_> = found
        .supersteps
        .iter()
        .map(|r| (r.stored_bytes, r.received_bytes))
        .collect();
    // Every cell of a tile is at its edge, so all of the 8 × 8 cells except the 4 corners have a neighbouring tile.
    assert_eq!(volumes, [(60 * 4, 0), (60 * 4, 528), (0, 528)]);
    assert_eq!(found.distances.len(), 1);
    assert_eq!(
        (found.distances[0].distance, found.distances[0].bytes),
        (0, 1056)
    );
    let mean = (4.0 * 3.0 + 8.0 * 5.0 + 4.0 * 8.0) / 16.0;
    assert!(found.connectivity.iter().all(|row| row.mean == mean));
    // CTA (0, 0) is number 0, (0, 1) is 1, (1, 0) is 4, (1, 1) is 5: two words per edge, one per corner, in two steps.
    let from_first: Vec<_> = (found.density.iter())
        .filter(|row| row.map == "first" && row.source == 0)
        .map(|row| (row.receiver, row.count))
        .collect();
    assert_eq!(from_first, [(1, 2 * 2), (4, 2 * 2), (5, 2)]);
}

/// n-body: each CTA writes its bodies, then every CTA reads all bodies; this happens twice.
#[test]
fn n_body_ctas_communicate_with_all_ctas() {
    let (ctas, bodies) = (4u32, 8u64);
    let body = |cta: u32, index: u64| 0x2_0000 + 4 * (u64::from(cta) * bodies + index);
    let velocity = |cta: u32, index: u64| body(cta, index) + 0x1000;
    let each = |f: &dyn Fn(u32, u64) -> Vec<(u32, Op, u64)>| -> Vec<_> {
        (0..ctas)
            .flat_map(|cta| (0..bodies).flat_map(move |b| f(cta, b)))
            .collect()
    };
    let all = |cta: u32| {
        (0..ctas).flat_map(move |c| (0..bodies).map(move |b| (cta, Op::Load, body(c, b))))
    };
    let mut program = Vec::new();
    for _ in 0..2 {
        let mut accesses: Vec<_> = (0..ctas).flat_map(all).collect();
        accesses.extend(each(&|cta, b| vec![(cta, Op::Store, velocity(cta, b))]));
        program.push(Step {
            kernel: "velocities",
            grid: [ctas, 1, 1],
            accesses,
        });
        let accesses = each(&|cta, b| {
            vec![
                (cta, Op::Load, velocity(cta, b)),
                (cta, Op::Store, body(cta, b)),
            ]
        });
        program.push(Step {
            kernel: "positions",
            grid: [ctas, 1, 1],
            accesses,
        });
    }
    let found = metrics(&program);
    let sizes: Vec<_> = found
        .transfer_sizes
        .iter()
        .map(|r| (r.size_bytes, r.transfers))
        .collect();
    // 4 + 4 from velocities to positions, 16 from positions to velocities, 32 bytes each.
    assert_eq!(sizes, [(32, 24)]);
    assert_eq!(entries(&found, "out"), [(1, 8), (4, 4)]);
    assert_eq!(entries(&found, "in"), [(1, 8), (4, 4)]);
    let means: Vec<f64> = found.connectivity.iter().map(|row| row.mean).collect();
    assert_eq!(means, [1.0, 4.0, 1.0]);
    let volumes: Vec<_> = found
        .supersteps
        .iter()
        .map(|r| (r.stored_bytes, r.received_bytes))
        .collect();
    assert_eq!(volumes, [(128, 0), (128, 128), (128, 512), (0, 128)]);
    // Two CTAs are on each side, so half of the all-to-all bytes cross the cut, and no other bytes do.
    assert_eq!(found.bisection[0].crossing_bytes, 256);
    // As published: from CTAs 0 and 1 to those above them, and from CTAs 2 and 3 to CTAs 0 and 1.
    assert_eq!(found.bisection[0].as_published_bytes, (3 + 2 + 4) * 32);
    // Adjacent words: 31 steps among the words that a CTA reads, 7 among its own.
    let stride = |access: &str| -> Vec<_> {
        (found.strides.iter())
            .filter(|row| row.access == access && row.distances > 0)
            .map(|row| (row.bin_bytes, row.distances))
            .collect()
    };
    assert_eq!(stride("load"), [(4, 4 * 31 + 2 * 4 * 7)]);
    assert_eq!(stride("store"), [(4, 3 * 4 * 7)]);
}

/// Histogram: 6 CTAs write 3 counters each; then 3 CTAs each gather one counter from all of them.
#[test]
fn histogram_ctas_gather_from_all_ctas() {
    let counter = |cta: u32, bin: u32| 0x3_0000 + 4 * u64::from(cta * 3 + bin);
    let pairs = || (0..6u32).flat_map(|cta| (0..3u32).map(move |bin| (cta, bin)));
    let found = metrics(&[
        Step {
            kernel: "count",
            grid: [6, 1, 1],
            accesses: pairs()
                .map(|(cta, bin)| (cta, Op::Store, counter(cta, bin)))
                .collect(),
        },
        Step {
            kernel: "merge",
            grid: [3, 1, 1],
            accesses: pairs()
                .map(|(cta, bin)| (bin, Op::Load, counter(cta, bin)))
                .collect(),
        },
    ]);
    assert_eq!(
        found.transfer_sizes[0],
        transfer_size::TransferSizeRow {
            size_bytes: 4,
            transfers: 18,
            cumulative_share: 1.0
        }
    );
    assert_eq!(
        (entries(&found, "out"), entries(&found, "in")),
        (vec![(2, 6)], vec![(4, 3)])
    );
    // Counters of the same bin are 12 bytes apart; those of a CTA are adjacent.
    let used: Vec<_> = found
        .strides
        .iter()
        .filter(|row| row.distances > 0)
        .collect();
    assert_eq!((used[0].bin_bytes, used[0].distances), (8, 15));
    assert_eq!((used[1].bin_bytes, used[1].distances), (4, 12));
    // CTAs 0 to 2 are below the cut and receive everything; CTAs 3 to 5 send across it.
    assert_eq!(
        (found.bisection[0].cut, found.bisection[0].crossing_bytes),
        (3, 36)
    );
    assert_eq!(found.connectivity.len(), 1);
    assert_eq!(
        found
            .density
            .iter()
            .filter(|row| row.map == "first")
            .count(),
        18
    );
}

#[test]
fn tables_round_trip_through_csv() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Metrics::read(folder.path()).unwrap(), None);
    let store = |cta| (cta, Op::Store, 0x100 + 4 * u64::from(cta));
    let load = |cta| (cta, Op::Load, 0x100);
    let grid = [3, 1, 1];
    let found = metrics(&[
        Step {
            kernel: "f",
            grid,
            accesses: (0..3).map(store).collect(),
        },
        Step {
            kernel: "g",
            grid,
            accesses: (0..3).map(load).collect(),
        },
    ]);
    crate::tables::write(folder.path(), &found.tables()).unwrap();
    assert_eq!(Metrics::read(folder.path()).unwrap(), Some(found));
}
