//! Tests for in-situ captures, which contain sums: the worked examples in docs/metrics.md, and bounds.

use std::path::Path;
use superstep_analysis::communication::{Matching, Options, Transfer, Volume};
use superstep_analysis::metrics::bounds::BoundRow;
use superstep_analysis::metrics::{Metrics, Settings};
use superstep_analysis::{Analysis, AnalysisError, analyse, tables};
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{
    Backend, Capture, Event, FirstRead, Header, Launch, LaunchOutcome, LaunchSums, LoadedBytes, Op,
    Parts, Received, Tally,
};

fn builder(folder: &Path) -> CaptureBuilder {
    builder_with(folder, &Header::new(Backend::Cpu))
}

fn builder_with(folder: &Path, header: &Header) -> CaptureBuilder {
    let sites = vec![testing::site(0, Op::Load), testing::site(1, Op::Store)];
    let kernels = [("_Z5writePi", "write"), ("_Z4readPi", "read")];
    CaptureBuilder::with_header(folder, header, &testing::module("f.cu", sites, &kernels))
}

/// Returns the tally of accesses with one lane per word.
fn words(words: u64, warps: u64) -> Tally {
    Tally {
        threads: words,
        bytes: 4 * words,
        warps,
    }
}

/// Records a launch of `ctas` CTAs with its sums.
fn launch(
    capture: &mut CaptureBuilder,
    kernel: &str,
    ctas: u32,
    fill: impl Fn(&mut LaunchSums),
) -> Launch {
    let launch = capture.begin(testing::launch(kernel, ctas, 32));
    let mut sums = LaunchSums::new(launch.stream, launch.launch);
    fill(&mut sums);
    let accesses = sums.thread_accesses();
    capture.event(&Event::Sums(sums));
    capture.end_with(&launch, accesses, LaunchOutcome::Completed);
    launch
}

fn received(from: [u32; 2], to: [u32; 2], bytes: u64, count: u64) -> Received {
    Received {
        source_launch: from[0],
        source_cta: from[1],
        receiver_launch: to[0],
        receiver_cta: to[1],
        bytes,
        count,
    }
}

fn first_read(source_launch: u32, receiver_launch: u32, stored_bytes: u64) -> FirstRead {
    FirstRead {
        source_launch,
        receiver_launch,
        stored_bytes,
        several_bytes: 0,
        perhaps_again_bytes: 0,
    }
}

fn parts(capture: &mut CaptureBuilder, received: Vec<Received>, first_read: Vec<FirstRead>) {
    capture.parts(Parts {
        received,
        first_read,
    });
}

/// Writes the worked example in docs/metrics.md. The table of parts filled up once, so one pair has two parts.
fn worked_example(folder: &Path) -> Capture {
    let mut capture = builder(folder);
    launch(&mut capture, "_Z5writePi", 2, |sums| {
        sums.stores = words(4, 2);
    });
    let read = [
        received([0, 0], [1, 0], 4, 1),
        received([0, 1], [1, 1], 4, 1),
    ];
    launch(&mut capture, "_Z4readPi", 2, |sums| {
        sums.loads = words(6, 3);
        sums.loaded = LoadedBytes {
            communicated: 20,
            uninitialised: 4,
            ..LoadedBytes::default()
        };
    });
    parts(&mut capture, read.to_vec(), vec![first_read(0, 1, 4)]);
    let rest = vec![
        received([0, 1], [1, 0], 1, 1),
        received([0, 1], [1, 0], 3, 0),
    ];
    parts(&mut capture, rest, vec![first_read(0, 1, 4)]);
    capture.finish()
}

fn metrics(analysis: &Analysis, capture: &Capture) -> Metrics {
    Metrics::new(analysis, capture.sites(), &Settings::default()).unwrap()
}

#[test]
fn sums_reproduce_the_worked_example() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(folder.path());
    assert!(capture.complete, "{:?}", capture.problems);
    let analysis = analyse(&capture, Options::everything()).unwrap();
    let found = &analysis.communication;
    let write = Volume {
        stored_bytes: 16,
        communicated_stored_bytes: 8,
        ..Volume::default()
    };
    let read = Volume {
        loaded_bytes: 24,
        communicated_loaded_bytes: 20,
        uninitialised_loaded_bytes: 4,
        received_bytes: 12,
        received_count: 3,
        ..Volume::default()
    };
    let volumes: Vec<_> = found.launches.iter().map(|it| it.volume).collect();
    assert_eq!(volumes, [write, read]);
    assert_eq!(found.total.share(), 0.5);
    let transfer = |source_cta, receiver_cta| Transfer {
        source_launch: 0,
        source_cta,
        receiver_launch: 1,
        receiver_cta,
        bytes: 4,
        count: 1,
    };
    let transfers = [transfer(0, 0), transfer(1, 0), transfer(1, 1)];
    assert_eq!(found.transfers.to_vec().unwrap(), transfers);
    let [flow] = found.flows[..] else {
        panic!("{:?}", found.flows);
    };
    assert_eq!((flow.bytes, flow.count), (12, 3));
    let kernels = &analysis.counts.kernels;
    let names: Vec<_> = kernels.iter().map(|it| it.kernel.as_str()).collect();
    assert_eq!(names, ["write", "read"]);
    assert_eq!(kernels[1].counts.thread_loads, 6);
    assert_eq!(kernels[1].counts.warp_loads, 3);

    let metrics = metrics(&analysis, &capture);
    let [size] = &metrics.transfer_sizes[..] else {
        panic!("{:?}", metrics.transfer_sizes);
    };
    assert_eq!((size.size_bytes, size.transfers), (4, 3));
    let degrees = |direction| {
        let entries = |bin| {
            let rows = metrics.degrees.iter();
            let mut rows = rows.filter(|row| row.direction == direction && row.bin == bin);
            rows.next().unwrap().entries
        };
        [entries(1), entries(2), entries(4)]
    };
    assert_eq!([degrees("out"), degrees("in")], [[1, 1, 0], [1, 1, 0]]);
    let steps: Vec<_> = (metrics.supersteps.iter())
        .map(|row| [row.stored_bytes, row.received_bytes, row.loaded_bytes])
        .collect();
    assert_eq!(steps, [[8, 0, 0], [0, 12, 20]]);
    assert_eq!(metrics.distances[0].bytes, 12);
    assert_eq!(
        (
            metrics.connectivity[0].mean,
            metrics.connectivity[0].deviation
        ),
        (1.5, 0.5)
    );
    assert_eq!(metrics.patterns[0].pattern, "stencil");
    assert_eq!(metrics.bounds, []);
    assert!(metrics.strides.is_empty());
    assert!(analysis.initialisation_unknown.is_some());
}

#[test]
fn tables_that_need_individual_accesses_are_empty() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(folder.path());
    let analysis = analyse(&capture, Options::everything()).unwrap();
    let tables = tables::tables(&analysis, capture.sites(), &Settings::default()).unwrap();
    let rows = |name: &str| {
        let table = tables.iter().find(|table| table.name() == name);
        table.map(superstep_table::Table::rows)
    };
    assert_eq!(rows("access-widths"), Some(0));
    assert_eq!(rows("lines"), Some(0));
    assert_eq!(rows("communication-by-launch"), Some(2));
    assert_eq!(rows("bounds"), Some(0));
    let volumes = analyse(&capture, Options::default()).unwrap();
    assert!(volumes.communication.transfers.is_empty());
    let tables = tables::tables(&volumes, capture.sites(), &Settings::default()).unwrap();
    assert_eq!(tables.len(), 6, "metrics need transfers");
}

fn bounds(metrics: &Metrics) -> Vec<(u32, &str, u64, u64)> {
    let row = |row: &BoundRow| (row.superstep, row.at_least, row.at_most);
    (metrics.bounds.iter())
        .map(|it| (row(it).0, it.quantity.as_str(), row(it).1, row(it).2))
        .collect()
}

/// Launch 1 reads 12 bytes with multiple writers, and 5 bytes perhaps twice. 8 bytes loaded by launch 2 may be local.
#[test]
fn inexact_numbers_have_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = builder(folder.path());
    launch(&mut capture, "_Z5writePi", 3, |sums| {
        sums.stores = words(10, 3);
    });
    launch(&mut capture, "_Z4readPi", 3, |sums| {
        sums.loads = words(10, 3);
        sums.loaded.communicated = 40;
    });
    launch(&mut capture, "_Z4readPi", 3, |sums| {
        sums.loads = words(10, 3);
        sums.loaded.communicated = 6;
        sums.loaded.input = 30;
        sums.loaded.local = 4;
        sums.loaded.perhaps_local = 8;
    });
    let first = FirstRead {
        several_bytes: 12,
        perhaps_again_bytes: 5,
        ..first_read(0, 1, 30)
    };
    parts(
        &mut capture,
        vec![
            received([0, 0], [1, 0], 30, 7),
            received([0, 0], [2, 0], 6, 2),
        ],
        vec![first, first_read(0, 2, 2)],
    );
    let capture = capture.finish();
    let analysis = analyse(&capture, Options::everything()).unwrap();
    assert_eq!(
        bounds(&metrics(&analysis, &capture)),
        [
            (0, "communicated_stored_bytes", 30, 40),
            (1, "received_bytes", 30, 30 + 2 * 12 + 5),
            (1, "received_count", 7, 7 + 2 * 12 + 5),
            (2, "communicated_loaded_bytes", 0, 6),
            (2, "input_loaded_bytes", 22, 30),
            (2, "local_loaded_bytes", 4, 12),
            (2, "received_bytes", 0, 6),
            (2, "received_count", 0, 2),
        ]
    );
    let total = analysis.in_situ.unwrap().total;
    let stored = total.of(|volume| volume.communicated_stored_bytes);
    assert_eq!((stored.least, stored.most), (30, 40));
}

/// Launch 1 loads 8 bytes without shadow memory, and launch 0 stored 4 others without it.
#[test]
fn bytes_without_shadow_memory_may_be_in_any_class() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = builder(folder.path());
    launch(&mut capture, "_Z5writePi", 3, |sums| {
        sums.stores = words(10, 3);
        sums.unshadowed_stored_bytes = 4;
    });
    launch(&mut capture, "_Z4readPi", 3, |sums| {
        sums.loads = words(10, 3);
        sums.loaded.input = 30;
        sums.loaded.unknown = 10;
        sums.unshadowed_loaded_bytes = 8;
    });
    let capture = capture.finish();
    let analysis = analyse(&capture, Options::everything()).unwrap();
    assert_eq!(
        bounds(&metrics(&analysis, &capture)),
        [
            (0, "communicated_stored_bytes", 0, 8 * 3),
            (0, "several_writers_bytes", 0, 4),
            (0, "racing_bytes", 0, 4),
            (1, "communicated_loaded_bytes", 0, 8),
            (1, "self_loaded_bytes", 0, 8),
            (1, "input_loaded_bytes", 30, 38),
            (1, "uninitialised_loaded_bytes", 0, 8),
            (1, "unknown_loaded_bytes", 2, 10),
            (1, "local_loaded_bytes", 0, 8),
            (1, "received_bytes", 0, 8 * 3),
            (1, "received_count", 0, 8 * 3),
        ]
    );
}

/// In a row of 10 CTAs, each receives 4 bytes from the next; the CTAs form 3 blocks of up to 4 CTAs.
#[test]
fn metrics_use_blocks_instead_of_ctas() {
    let folder = tempfile::tempdir().unwrap();
    let header = Header {
        cta_blocks: "4".parse().unwrap(),
        ..Header::new(Backend::Cpu)
    };
    let mut capture = builder_with(folder.path(), &header);
    launch(&mut capture, "_Z5writePi", 10, |sums| {
        sums.stores = words(10, 10);
    });
    launch(&mut capture, "_Z4readPi", 10, |sums| {
        sums.loads = words(9, 9);
        sums.loaded.communicated = 36;
    });
    let pairs = [([0, 0], 12), ([4, 0], 4), ([4, 4], 12), ([8, 4], 4)];
    let mut rows: Vec<_> = (pairs.iter())
        .map(|&([from, to], bytes)| received([0, from], [1, to], bytes, bytes / 4))
        .collect();
    rows.push(received([0, 8], [1, 8], 4, 1));
    parts(&mut capture, rows, vec![first_read(0, 1, 36)]);
    let capture = capture.finish();
    let analysis = analyse(&capture, Options::everything()).unwrap();
    let read = analysis.communication.launches[1].volume;
    assert_eq!((read.received_bytes, read.received_count), (36, 9));
    let metrics = metrics(&analysis, &capture);
    let connectivity = &metrics.connectivity[0];
    assert_eq!((connectivity.entries, connectivity.mean), (3, 5.0 / 3.0));
    let pattern = &metrics.patterns[0];
    assert_eq!(
        (pattern.sources, pattern.receivers, pattern.pairs),
        (3, 3, 5)
    );
    assert_eq!(
        (pattern.pattern.as_str(), pattern.neighbour_share),
        ("stencil", 1.0)
    );
    let cells: Vec<_> = (metrics.density.iter().filter(|row| row.map == "whole"))
        .map(|row| (row.ctas, row.source, row.receiver, row.count))
        .collect();
    assert_eq!(
        cells,
        [
            (3, 0, 0, 3),
            (3, 1, 0, 1),
            (3, 1, 1, 3),
            (3, 2, 1, 1),
            (3, 2, 2, 1)
        ]
    );
    // Block 0 is on one side, blocks 1 and 2 are on the other.
    assert_eq!(
        (metrics.bisection[0].coordinates, metrics.bisection[0].cut),
        (3, 1)
    );
    assert_eq!(metrics.bisection[0].crossing_bytes, 4);
    let linear = metrics
        .scaling
        .iter()
        .find(|row| row.cut == "linear")
        .unwrap();
    assert_eq!(
        (linear.gpus, linear.crossing_bytes, linear.imbalance),
        (2, 4, 4.0 / 3.0)
    );
    let tables = metrics.tables();
    let units = |name: &str| -> Vec<(String, String)> {
        let table = tables.iter().find(|table| table.name() == name).unwrap();
        let columns = table
            .columns()
            .filter(|column| column.unit.contains("CTAs"));
        columns
            .map(|it| (it.name.to_owned(), it.unit.to_owned()))
            .collect()
    };
    let unit = |name: &str, unit: &str| (name.to_owned(), unit.to_owned());
    assert_eq!(units("degree"), [unit("bin", "blocks of 4 CTAs")]);
    assert!(units("pattern").contains(&unit("replication", "CTAs")));
}

#[test]
fn mixing_sums_and_accesses_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = builder(folder.path());
    launch(&mut capture, "_Z5writePi", 2, |sums| {
        sums.stores = words(4, 2);
    });
    let group = testing::group(0, 0, testing::words(0x1000));
    capture.launch(testing::launch("_Z4readPi", 2, 32), &[[group]]);
    let error = analyse(&capture.finish(), Options::everything()).unwrap_err();
    assert!(matches!(error, AnalysisError::Mixed { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("launch 0 of stream 0 has sums") && text.contains("launch 1 of"),
        "{text}"
    );
}

#[test]
fn matching_by_address_needs_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(folder.path());
    let options = Options {
        matching: Matching::ExactAddress,
        ..Options::everything()
    };
    let error = analyse(&capture, options).unwrap_err();
    assert!(matches!(error, AnalysisError::NeedsTrace { .. }), "{error}");
}
