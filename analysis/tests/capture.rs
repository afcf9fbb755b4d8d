//! Tests of the analysis, from capture to table files: event order, streams, allocations, and the files' contents.

use std::path::Path;
use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::metrics::Settings;
use superstep_analysis::scan::{CaptureScan, scan};
use superstep_analysis::{AnalysisError, analyse, analyse_and_scan, tables};
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{
    AccessGroup, AllocationId, AllocationKind, Block, Capture, CopyDirection, Event, Gap,
    KnownCall, Launch, ModuleTable, Op, SiteId, StreamId,
};

const ARRAY: u64 = 0x10_0000;
const SYMBOL: u64 = 0x20_0000;

fn module() -> ModuleTable {
    let sites = [Op::Load, Op::Store, Op::AtomicAdd];
    let sites = (0..).zip(sites).map(|(local, op)| testing::site(local, op));
    testing::module("f.cu", sites.collect(), &[("_Z1fPi", "f")])
}

fn launch(stream: u32) -> Launch {
    Launch {
        stream: StreamId(stream),
        ..testing::launch("_Z1fPi", 2, 32)
    }
}

/// Returns a group of 32 lanes that access one word each, starting at `address`.
fn warp(site: u16, cta: u32, address: u64) -> AccessGroup {
    testing::group(site, cta, testing::words(address))
}

fn write(folder: &Path, finish: bool) -> Capture {
    let mut capture = CaptureBuilder::new(folder, &module());
    let first = capture.allocate(ARRAY, 4096, AllocationKind::Device);
    let symbol = AllocationKind::Symbol {
        name: "table".to_owned(),
    };
    capture.allocate(SYMBOL, 128, symbol);
    capture.copy(CopyDirection::HostToDevice, ARRAY, 1, 128);
    // CTA 0 reads the input; CTA 1 reads the symbol and writes the second 128 bytes.
    let launch_0 = capture.begin(launch(0));
    capture.chunk(&launch_0, &[warp(0, 0, ARRAY), warp(0, 1, SYMBOL)]);
    capture.chunk(&launch_0, &[warp(1, 1, ARRAY + 128)]);
    // By sequence number, the launch in stream 1 follows the second one in stream 0. CTA 1 reads what CTA 0 wrote.
    let other = capture.at(5).begin(launch(1));
    capture.chunk(&other, &[warp(0, 1, ARRAY + 128)]);
    // CTA 0 reads these bytes and adds to them.
    let launch_1 = capture.at(4).begin(launch(0));
    capture.chunk(
        &launch_1,
        &[warp(0, 0, ARRAY + 128), warp(2, 0, ARRAY + 128)],
    );
    capture.at(6).free(first);
    capture.allocate(ARRAY, 4096, AllocationKind::Device);
    // This address has been freed and reallocated, and nothing has written to it since.
    let launch_2 = capture.begin(launch(0));
    capture.chunk(&launch_2, &[warp(0, 1, ARRAY + 128)]);
    // Nothing wrote the bytes of the first two copies; the symbol has its initial value.
    let to_host = CopyDirection::DeviceToHost;
    capture.copy(to_host, 1, ARRAY + 256, 64);
    capture.copy(to_host, 1, ARRAY + 256, 128);
    capture.copy(to_host, 1, SYMBOL, 128);
    if finish {
        capture.finish()
    } else {
        capture.kill()
    }
}

#[test]
fn reallocated_memory_is_uninitialised() {
    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), true);
    let found = analyse(&capture, Options::everything()).unwrap();
    // The symbol has its initial value, and the first allocation was copied and written to.
    let [read] = found.communication.unwritten[..] else {
        panic!("{:?}", found.communication.unwritten);
    };
    assert_eq!(
        (read.allocation, read.bytes, read.first_launch),
        (AllocationId(2), 128, 3)
    );
    let [copy] = found.unwritten_copies[..] else {
        panic!("{:?}", found.unwritten_copies);
    };
    assert_eq!((copy.allocation, copy.copies), (AllocationId(2), 2));
    assert_eq!(
        (copy.bytes, copy.copied_bytes, copy.launches_before),
        (128, 192, 4)
    );
    assert_eq!(found.initialisation_unknown, None);

    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), false);
    let found = analyse(&capture, Options::everything()).unwrap();
    assert_eq!(found.communication.unwritten, []);
    let why = found.initialisation_unknown.unwrap();
    assert!(why.contains("incomplete"), "{why}");
}

/// The first capture has accesses outside the grid and past an allocation, and a site in no table.
#[test]
fn one_pass_verifies_and_analyses_like_two() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = CaptureBuilder::new(folder.path(), &module());
    capture.allocate(ARRAY, 4096, AllocationKind::Device);
    for stream in [0, 1] {
        let valid = [warp(0, 0, ARRAY), warp(1, 1, ARRAY + 128)];
        let invalid = [warp(0, 7, ARRAY), warp(1, 0, SYMBOL), warp(9, 0, ARRAY)];
        let invalid = &invalid[..3 - stream as usize];
        capture.launch(launch(stream), &[&valid[..], invalid, &valid[..]]);
    }
    let capture = capture.finish();
    let limit = MemoryLimit::none();
    // A site in no table fails the analysis, but not the verification.
    assert!(analyse_and_scan(&capture, Options::everything(), &limit).is_err());
    let problems = |scan: &CaptureScan| {
        let groups = scan.violations.each_ref().map(|it| it.groups);
        let firsts: Vec<_> = (scan.violations.iter())
            .flat_map(|it| it.first.clone())
            .collect();
        (groups, firsts)
    };
    assert_eq!(problems(&scan(&capture).unwrap()).0, [2, 0, 1, 2]);

    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), true);
    let (analysis, found) = analyse_and_scan(&capture, Options::everything(), &limit).unwrap();
    assert_eq!(analysis, analyse(&capture, Options::everything()).unwrap());
    let expected = scan(&capture).unwrap();
    assert_eq!(found.digest, expected.digest);
    assert_eq!(problems(&found), problems(&expected));
    assert_eq!(found.launches.len(), expected.launches.len());
    for (found, expected) in found.launches.iter().zip(&expected.launches) {
        assert_eq!(found.launch, expected.launch);
        assert_eq!(found.digest, expected.digest);
        assert_eq!(found.sites, expected.sites);
        assert!(found.thread_accesses() > 0);
    }
}

#[test]
fn initialisation_is_unknown_if_writes_are_missing() {
    let untraced = Gap::UntracedKernel {
        kernel: Some("_Zother".to_owned()),
    };
    let missing_copies = "the capture is missing some copies";
    for (gaps, why) in [
        (vec![Gap::ArrayCopy], missing_copies),
        (vec![Gap::GraphMemoryNode], missing_copies),
        (
            vec![Gap::ArrayCopy, untraced],
            "kernel _Zother was not built by Superstep; its accesses are not traced",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = CaptureBuilder::new(folder.path(), &module());
        capture.allocate(ARRAY, 4096, AllocationKind::Device);
        capture.launch(launch(0), &[[warp(0, 0, ARRAY)]]);
        for gap in gaps {
            capture.event(&Event::Gap(gap));
        }
        let found = analyse(&capture.finish(), Options::everything()).unwrap();
        assert_eq!(found.communication.unwritten, []);
        assert_eq!(found.initialisation_unknown.as_deref(), Some(why));
    }
}

/// The second example in docs/metrics.md.
#[test]
fn only_the_bytes_that_a_known_call_wrote_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = CaptureBuilder::new(folder.path(), &module());
    capture.allocate(ARRAY, 4096, AllocationKind::Device);
    capture.launch(launch(0), &[[warp(1, 0, ARRAY)]]);
    // Two columns of four words, 16 words apart.
    let block = Block {
        address: ARRAY,
        bytes: 16,
        rows: 2,
        row_pitch: 64,
        planes: 1,
        plane_pitch: 0,
    };
    let call = KnownCall {
        function: "cublasSgemm_v2".into(),
        reads: Vec::new(),
        writes: vec![block],
    };
    capture.opaque_call(Some("_Z4gemmPf"), Some(call));
    capture.launch(launch(0), &[[warp(0, 1, ARRAY)]]);
    let analysis = analyse(&capture.finish(), Options::everything()).unwrap();
    let volume = analysis.communication.launches[1].volume;
    assert_eq!(
        (
            volume.communicated_loaded_bytes,
            volume.unknown_loaded_bytes
        ),
        (96, 32)
    );
    let [row] = &analysis.opaque[..] else {
        panic!("{:?}", analysis.opaque);
    };
    assert_eq!((row.launches, row.known_launches), (1, 1));
}

/// The example in docs/metrics.md.
#[test]
fn writers_are_unknown_after_an_opaque_launch() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = CaptureBuilder::new(folder.path(), &module());
    capture.allocate(ARRAY, 4096, AllocationKind::Device);
    capture.launch(launch(0), &[[warp(1, 0, ARRAY)]]);
    capture.opaque(Some("_Z4gemmPf"));
    capture.opaque(Some("_Z4gemmPf"));
    capture.copy(CopyDirection::HostToDevice, ARRAY, 1, 64);
    // CTA 1 reads both halves, and bytes that only the opaque launches could have written.
    let reads = [warp(0, 1, ARRAY), warp(0, 1, ARRAY + 1024)];
    capture.launch(launch(0), &[reads]);
    capture.launch(launch(0), &[[warp(1, 0, ARRAY)]]);
    capture.launch(launch(0), &[[warp(0, 1, ARRAY)]]);
    capture.copy(CopyDirection::DeviceToHost, 1, ARRAY + 2048, 64);
    let analysis = analyse(&capture.finish(), Options::everything()).unwrap();
    let launches = &analysis.communication.launches;
    let volume = |index: usize| launches[index].volume;
    assert_eq!(volume(0).communicated_stored_bytes, 0);
    assert_eq!(
        (volume(1).input_loaded_bytes, volume(1).unknown_loaded_bytes),
        (64, 64 + 128)
    );
    assert_eq!(volume(1).loaded_bytes, 256);
    assert_eq!(volume(3).communicated_loaded_bytes, 128, "known again");
    assert_eq!(analysis.communication.unwritten, []);
    assert_eq!(analysis.unwritten_copies, []);
    assert_eq!(analysis.initialisation_unknown, None);
    let arrays = &analysis.communication.arrays;
    assert_eq!(
        arrays
            .iter()
            .map(|array| array.volume.unknown_loaded_bytes)
            .sum::<u64>(),
        192
    );
    let [row] = &analysis.opaque[..] else {
        panic!("{:?}", analysis.opaque);
    };
    assert_eq!(
        (&*row.kernel, row.launches, row.elapsed_ns),
        ("gemm", 2, 1400)
    );
}

#[test]
fn events_are_ordered_by_sequence_number() {
    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), true);
    let analysis = analyse(&capture, Options::everything()).unwrap();
    let launches = &analysis.communication.launches;
    let order: Vec<_> = launches
        .iter()
        .map(|l| (l.stream.0, l.superstep.0))
        .collect();
    assert_eq!(order, [(0, 0), (0, 1), (1, 0), (0, 2)]);

    let volume = |index: usize| launches[index].volume;
    assert_eq!(volume(0).input_loaded_bytes, 256);
    assert_eq!(
        (
            volume(1).communicated_loaded_bytes,
            volume(1).received_bytes
        ),
        (256, 128)
    );
    assert_eq!(volume(1).communicated_stored_bytes, 128);
    assert_eq!(volume(2).communicated_loaded_bytes, 128);
    assert_eq!(volume(3).uninitialised_loaded_bytes, 128);
    assert_eq!(analysis.communication.total.share(), 1.0);
    assert_eq!(analysis.communication.transfers.len(), 2);

    let counts = &analysis.counts;
    assert_eq!((counts.ctas, counts.kernels.len()), (8, 1));
    assert_eq!(counts.kernels[0].kernel, "f");
    let total = counts.total;
    assert_eq!(
        (
            total.thread_loads,
            total.thread_stores,
            total.thread_atomics
        ),
        (5 * 32, 32, 32)
    );
    assert_eq!((total.warp_loads, total.atomic_bytes), (5, 128));
}

#[test]
fn an_incomplete_capture_is_analysed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), false);
    assert!(!capture.complete);
    let analysis = analyse(&capture, Options::default()).unwrap();
    assert_eq!(analysis.communication.launches.len(), 4);
    assert!(analysis.communication.transfers.is_empty());
}

#[test]
fn csv_and_json_tables_agree() {
    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), true);
    let analysis = analyse(&capture, Options::default()).unwrap();
    let out = folder.path().join("tables");
    let tables = tables::tables(&analysis, capture.sites(), &Settings::default()).unwrap();
    let files = tables::write(&out, &tables).unwrap();
    assert_eq!(files.len(), 12);
    let json = std::fs::read_to_string(out.join("communication-by-launch.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["rows"].as_array().unwrap();
    #[derive(serde::Deserialize)]
    struct Stored {
        communicated_stored_bytes: u64,
    }
    let csv = out.join("communication-by-launch.csv");
    let from_csv: Vec<Stored> = superstep_table::read_csv(&csv).unwrap();
    let from_csv: Vec<u64> = from_csv
        .iter()
        .map(|row| row.communicated_stored_bytes)
        .collect();
    let from_json: Vec<u64> = rows
        .iter()
        .map(|row| row["communicated_stored_bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(from_csv, [128, 128, 0, 0]);
    assert_eq!(from_json, from_csv);
    assert_eq!(rows[0]["kernel"], "f");
    assert!(
        json["columns"][4]["note"]
            .as_str()
            .unwrap()
            .contains("loaded")
    );
}

#[test]
fn an_unknown_site_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = CaptureBuilder::new(folder.path(), &module());
    capture.launch(launch(0), &[[warp(9, 0, ARRAY)]]);
    let capture = capture.finish();
    let error = analyse(&capture, Options::default()).unwrap_err();
    assert!(matches!(
        error,
        AnalysisError::Trace(superstep_trace::TraceError::UnknownSite { site: SiteId(9) })
    ));
    assert!(error.to_string().contains("site 9"), "{error}");
}

#[test]
fn a_damaged_chunk_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), true);
    let path = folder.path().join("stream-1.sst");
    let mut bytes = std::fs::read(&path).unwrap();
    // A byte of the only chunk's contents, between the file's magic and its end chunk.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    let capture = Capture::open(folder.path()).unwrap();
    let outcome = analyse(&capture, Options::default());
    assert!(!capture.complete || matches!(outcome, Err(AnalysisError::Trace(_))));
}
