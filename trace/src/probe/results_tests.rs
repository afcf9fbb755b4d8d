//! Tests of reading probe results.

use super::*;
use crate::probe::{At, Combine, Field, FieldsIn, PointSite, ProbeSpec, Word};

/// Returns a module with two sites, each with two fields per CTA, and a table of one word.
fn module() -> ModuleTable {
    let field = |name: &str| Field {
        name: name.into(),
        word: Word::U64,
        combine: Combine::Sum,
    };
    let site = PointSite {
        point: 0,
        at: At::Load,
        function: "k".into(),
        file: String::new(),
        line: 0,
        column: 0,
        what: "load".into(),
        block: 0,
        operation: 0,
        width: 4,
        successors: Vec::new(),
        lines: None,
        followers: 0,
    };
    let spec = ProbeSpec {
        name: "p".into(),
        title: "P".into(),
        kernels: Vec::new(),
        per: Per::Cta,
        fields: vec![field("a"), field("b")],
        fields_in: FieldsIn::Registers,
        tables: vec![crate::probe::TableSpec {
            name: "t".into(),
            words: 1,
        }],
        parameters: Vec::new(),
        points: Vec::new(),
    };
    ModuleTable {
        schema_version: crate::TABLE_SCHEMA_VERSION,
        module: 0,
        name: "k.cu".into(),
        backend: Default::default(),
        probe: crate::Probe::Defined,
        sites: Vec::new(),
        kernels: Vec::new(),
        opaque_assembly: 0,
        grid_barriers: false,
        launches: false,
        defined: Some(DefinedProbe {
            spec,
            sites: vec![site.clone(), site],
            kernels: Default::default(),
        }),
    }
}

/// Returns a launch of three CTAs that reached the second site.
fn launch() -> LaunchResult {
    LaunchResult {
        stream: 0,
        launch: 0,
        kernel: "k".into(),
        module: 0,
        grid: [3, 1, 1],
        block: [1; 3],
        first_slot: 1,
        slots: 1,
        units: 3,
        elapsed_ns: 0,
        fields: Part { first: 1, words: 6 },
        threads: None,
        thread_slots: None,
        tables: Part { first: 7, words: 1 },
    }
}

fn opened(folder: &Path, launch: &LaunchResult) -> Result<ProbeResults, TraceError> {
    let mut writer = ProbeWriter::create(folder).unwrap();
    writer.modules(&[Arc::new(module())]).unwrap();
    writer.values([0]).unwrap();
    let part = writer.values([3, 4, 5, 6, 7, u64::MAX]).unwrap();
    assert_eq!(part, self::launch().fields);
    writer.values([9]).unwrap();
    writer.launch(launch).unwrap();
    ProbeResults::open(folder)
}

#[test]
fn parts_are_read_back_and_other_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = ProbeResults::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("superstep probe"), "{error}");
    let launch = launch();
    let read = opened(folder.path(), &launch).unwrap();
    assert_eq!(read.launches, std::slice::from_ref(&launch));
    assert_eq!(read.words(launch.tables).unwrap(), [9]);
    assert_eq!(read.totals(&launch).unwrap(), [15, 9]);
    let (first, words) = (4, 10);
    assert!(read.words(Part { first, words }).is_err());
}

/// The numbers in a damaged launch can contradict its probe, so they are checked before use.
#[test]
fn inconsistent_launch_is_refused() {
    type Change = fn(&mut LaunchResult);
    let changes: [(Change, &str); 9] = [
        (|launch| launch.module = 1, "module 1 has no probe"),
        (
            |launch| launch.slots = 2,
            "2 slots starting at 1, but the probe has only 2",
        ),
        (
            |launch| launch.first_slot = u32::MAX,
            "1 slots starting at 4294967295",
        ),
        (
            |launch| launch.slots = 0,
            "`fields` has 6 words, expected 0",
        ),
        (|launch| launch.units = 0, "the launch has no units"),
        (|launch| launch.units = 1 << 63, "expected more than 2^64"),
        (
            |launch| launch.fields.first = u64::MAX,
            "but values.bin has only 8",
        ),
        (
            |launch| launch.thread_slots = Some(vec![0]),
            "slot 0 does not belong to the launch",
        ),
        (
            |launch| launch.threads = Some(Part::default()),
            "`threads` has 0 words, expected 6",
        ),
    ];
    for (change, expected) in changes {
        let folder = tempfile::tempdir().unwrap();
        let mut launch = launch();
        change(&mut launch);
        let error = opened(folder.path(), &launch).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
}
