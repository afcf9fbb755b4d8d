//! Tests of `journal`.

use super::*;
use crate::Backend;

#[test]
fn a_journal_gives_the_summary_that_nobody_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.json");
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
    let mut journal = Journal::create(&path, begin.clone()).unwrap();
    journal.device(&expected.device).unwrap();
    journal.host_thread().unwrap();
    journal.launch("a", 3).unwrap();
    journal.resources("a", resources).unwrap();
    journal.counts(&counts).unwrap();
    journal.launch("b", 2).unwrap();
    journal.opaque_launch("b").unwrap();
    journal.opaque_end("b", 4).unwrap();
    journal.records_lost(5).unwrap();
    journal.bad_addresses(9).unwrap();
    journal.fault("f").unwrap();
    journal.warning("w").unwrap();
    journal.launch("a", 5).unwrap();
    let place = Journal::beside(&path);
    assert_eq!(Summary::from_journal(&place).unwrap(), expected);

    // Cut off anywhere, it says what had happened until then.
    let whole = std::fs::read(&place).unwrap();
    let begun = whole.iter().position(|&byte| byte == b'\n').unwrap();
    for length in 0..=whole.len() {
        std::fs::write(&place, &whole[..length]).unwrap();
        let read = Summary::from_journal(&place);
        assert_eq!(read.is_ok(), length > begun, "{length}");
        assert!(read.is_ok_and(|read| read.launches <= 3) || length <= begun);
    }
    journal.remove().unwrap();
    assert!(!place.exists());
}
