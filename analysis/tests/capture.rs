//! From a capture on disk to tables on disk: event order, streams, allocations, and the files' contents.

use std::path::Path;
use superstep_analysis::communication::Options;
use superstep_analysis::metrics::Settings;
use superstep_analysis::{AnalysisError, analyse, count_capture, tables};
use superstep_trace::{
    AccessGroup, AllocationId, AllocationKind, Backend, Capture, CaptureWriter, ChunkBuilder,
    CopyDirection, Event, Header, KernelInfo, Launch, LaunchId, ModuleTable, Op, Outcome, Probe,
    Proof, Site, SiteId, StreamId, TABLE_SCHEMA_VERSION,
};

const ARRAY: u64 = 0x10_0000;
const SYMBOL: u64 = 0x20_0000;

fn module() -> ModuleTable {
    let site = |id, op| Site {
        id: SiteId(id),
        function: "_Z1fPi".to_owned(),
        file: "f.cu".to_owned(),
        line: 1,
        column: 1,
        op,
        width_bytes: 4,
        proof: Proof::Proven,
    };
    ModuleTable {
        opaque_assembly: 0,
        defined: None,
        schema_version: TABLE_SCHEMA_VERSION,
        module: 0,
        name: "f.cu".to_owned(),
        backend: Backend::Cpu,
        probe: Probe::Trace,
        sites: vec![
            site(0, Op::Load),
            site(1, Op::Store),
            site(2, Op::AtomicAdd),
        ],
        kernels: vec![KernelInfo {
            name: "_Z1fPi".to_owned(),
            display_name: "f".to_owned(),
            parameters: 1,
        }],
    }
}

fn launch(sequence: u64, stream: u32, number: u32) -> Event {
    Event::Launch(Launch {
        sequence,
        stream: StreamId(stream),
        launch: LaunchId(number),
        kernel: "_Z1fPi".to_owned(),
        grid: [2, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
    })
}

/// 32 lanes, one word each, from `address` on.
fn warp(site: u32, cta: u32, address: u64) -> AccessGroup {
    let mut group = AccessGroup {
        site: SiteId(site),
        cta,
        mask: u32::MAX,
        width_bytes: 4,
        ..AccessGroup::EMPTY
    };
    for (lane, slot) in group.addresses.iter_mut().enumerate() {
        *slot = address + 4 * lane as u64;
    }
    group
}

fn write(folder: &Path, finish: bool) {
    let writer = CaptureWriter::create(folder, &Header::new(Backend::Cpu)).unwrap();
    writer.module(&module()).unwrap();
    let allocate = |sequence, id, address, bytes, kind| Event::Allocate {
        sequence,
        id: AllocationId(id),
        address,
        bytes,
        kind,
        place: None,
    };
    let symbol = AllocationKind::Symbol {
        name: "table".to_owned(),
    };
    let back = |sequence, source, bytes| Event::Copy {
        sequence,
        direction: CopyDirection::DeviceToHost,
        destination: 1,
        source,
        bytes,
        stream: StreamId(0),
    };
    // In the file stream 1's launch (sequence 5) stands before stream 0's second one (sequence 4).
    let events = [
        allocate(0, 0, ARRAY, 4096, AllocationKind::Device),
        allocate(1, 1, SYMBOL, 128, symbol),
        Event::Copy {
            sequence: 2,
            direction: CopyDirection::HostToDevice,
            destination: ARRAY,
            source: 1,
            bytes: 128,
            stream: StreamId(0),
        },
        launch(3, 0, 0),
        launch(5, 1, 0),
        launch(4, 0, 1),
        Event::Free {
            sequence: 6,
            id: AllocationId(0),
        },
        allocate(7, 2, ARRAY, 4096, AllocationKind::Device),
        launch(8, 0, 2),
        // Nothing of this was written; of the first allocation some was.
        back(9, ARRAY + 256, 64),
        back(10, ARRAY + 256, 128),
        back(11, SYMBOL, 128),
    ];
    for event in &events {
        writer.event(event).unwrap();
    }
    let chunk = |stream, number, groups: &[AccessGroup]| {
        let mut builder = ChunkBuilder::new(LaunchId(number));
        groups.iter().for_each(|group| builder.push(group));
        writer
            .stream(StreamId(stream))
            .unwrap()
            .write(builder)
            .unwrap();
    };
    // Launch 0: CTA 0 reads the input, CTA 1 the symbol, and writes the second 128 bytes.
    chunk(0, 0, &[warp(0, 0, ARRAY), warp(0, 1, SYMBOL)]);
    chunk(0, 0, &[warp(1, 1, ARRAY + 128)]);
    // Stream 0's second launch: CTA 0 reads them and adds to them.
    chunk(0, 1, &[warp(0, 0, ARRAY + 128), warp(2, 0, ARRAY + 128)]);
    // Stream 1, later: CTA 1 reads what CTA 0 made of them.
    chunk(1, 0, &[warp(0, 1, ARRAY + 128)]);
    // The same address after it was freed and allocated again: written by nobody.
    chunk(0, 2, &[warp(0, 1, ARRAY + 128)]);
    if finish {
        writer.finish(&Outcome::Finished).unwrap();
    }
}

#[test]
fn memory_that_is_allocated_again_is_not_initialised() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), true);
    let capture = Capture::open(folder.path()).unwrap();
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
    write(folder.path(), false);
    let capture = Capture::open(folder.path()).unwrap();
    let found = analyse(&capture, Options::everything()).unwrap();
    assert_eq!(found.communication.unwritten, []);
    let why = found.initialisation_unknown.unwrap();
    assert!(why.contains("incomplete"), "{why}");
}

#[test]
fn events_are_taken_by_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), true);
    let capture = Capture::open(folder.path()).unwrap();
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
    assert_eq!(counts.kernels[0].display_name, "f");
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
    assert_eq!(count_capture(&capture).unwrap(), *counts);
}

#[test]
fn an_incomplete_capture_is_analysed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), false);
    let capture = Capture::open(folder.path()).unwrap();
    assert!(!capture.complete);
    let analysis = analyse(&capture, Options::default()).unwrap();
    assert_eq!(analysis.communication.launches.len(), 4);
    assert!(analysis.communication.transfers.is_empty());
}

#[test]
fn tables_have_one_value_a_column_and_add_up() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), true);
    let capture = Capture::open(folder.path()).unwrap();
    let analysis = analyse(&capture, Options::default()).unwrap();
    for table in tables::tables(&analysis, capture.sites()) {
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "{}", table.name);
        }
    }
    let out = folder.path().join("tables");
    let files =
        tables::write_tables(&out, &analysis, capture.sites(), &Settings::default()).unwrap();
    assert_eq!(files.len(), 10);
    let json: serde_json::Value =
        tables::read_json(&out.join("communication-by-launch.json")).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let mut csv = csv::Reader::from_path(out.join("communication-by-launch.csv")).unwrap();
    let at = |name: &str, csv: &mut csv::Reader<_>| {
        let header: &csv::StringRecord = csv.headers().unwrap();
        header.iter().position(|column| column == name).unwrap()
    };
    let column = at("communicated_stored_bytes", &mut csv);
    let from_csv: Vec<u64> = csv
        .records()
        .map(|record| record.unwrap()[column].parse().unwrap())
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
fn an_unknown_site_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let writer = CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu)).unwrap();
    writer.module(&module()).unwrap();
    writer.event(&launch(0, 0, 0)).unwrap();
    let mut builder = ChunkBuilder::new(LaunchId(0));
    builder.push(&warp(9, 0, ARRAY));
    writer.stream(StreamId(0)).unwrap().write(builder).unwrap();
    writer.finish(&Outcome::Finished).unwrap();
    let capture = Capture::open(folder.path()).unwrap();
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
    // A byte of the only chunk's contents, which lies between the file's magic and its end chunk.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    let capture = Capture::open(folder.path()).unwrap();
    let outcome = analyse(&capture, Options::default());
    assert!(!capture.complete || matches!(outcome, Err(AnalysisError::Trace(_))));
}
