//! Tests for `journal`.

use super::*;
use crate::Backend;

#[test]
fn a_summary_is_read_from_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.jsonl");
    let begin = Summary::new(Backend::Cpu);
    let counts = LaunchCounts {
        stream: 1,
        launch: 0,
        kernel: "b".into(),
        sites: vec![(3, 64)],
    };
    let resources = KernelResources {
        registers: 7,
        ..KernelResources::default()
    };
    let totals = |name: &str, launches, ns, resources| KernelTotals {
        name: name.into(),
        launches,
        ns,
        resources,
    };
    let expected = Summary {
        device: DeviceInfo {
            name: "x".into(),
            ..DeviceInfo::default()
        },
        launches: 3,
        host_threads: 1,
        kernel_ns: 10,
        kernels: vec![totals("a", 2, 8, Some(resources)), totals("b", 1, 2, None)],
        records_lost: 5,
        faults: vec!["f".into()],
        warnings: vec!["w".into()],
        counts: Some(vec![counts.clone()]),
        bad_addresses: 9,
        opaque: vec![totals("b", 1, 4, None)],
        ..begin.clone()
    };
    let mut journal = Journal::create(path.clone(), begin.clone()).unwrap();
    let launch = |ns| move |kernel| Note::Launch { kernel, ns };
    let mut add = |note| journal.add(note).unwrap();
    add(Note::Device(expected.device.clone()));
    add(Note::HostThread);
    journal.add_for_kernel("a", launch(3)).unwrap();
    let note = |kernel| Note::Resources(kernel, resources);
    journal.add_for_kernel("a", note).unwrap();
    let note = |kernel| Note::Counts {
        kernel,
        stream: 1,
        launch: 0,
        sites: counts.sites.clone(),
    };
    journal.add_for_kernel("b", note).unwrap();
    journal.add_for_kernel("b", launch(2)).unwrap();
    journal.add_for_kernel("b", Note::OpaqueLaunch).unwrap();
    let note = |kernel| Note::OpaqueEnd { kernel, ns: 4 };
    journal.add_for_kernel("b", note).unwrap();
    let mut add = |note| journal.add(note).unwrap();
    add(Note::RecordsLost(5));
    add(Note::BadAddresses(9));
    add(Note::Fault("f".into()));
    add(Note::Warning("w".into()));
    journal.add_for_kernel("a", launch(5)).unwrap();
    assert_eq!(Summary::read(&path).unwrap(), expected);

    // A journal that is truncated at any point covers everything before that point.
    let whole = std::fs::read(&path).unwrap();
    let first_line = whole.iter().position(|&byte| byte == b'\n').unwrap();
    for length in 0..=whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let read = Summary::read(&path);
        assert_eq!(read.is_ok(), length > first_line, "{length}");
        assert!(read.is_ok_and(|read| read.launches <= 3) || length <= first_line);
    }
    journal.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn journal_with_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.jsonl");
    let begin = Summary {
        schema_version: 2,
        ..Summary::new(Backend::Cpu)
    };
    Journal::create(path.clone(), begin).unwrap();
    let error = Summary::read(&path).unwrap_err().to_string();
    assert!(error.contains("schema version 2"), "{error}");
    assert!(Summary::read(&folder.path().join("absent")).is_err());
}
