//! Checks that addresses resolve to the allocations that are live when a launch begins.

use proptest::prelude::*;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::*;

fn builder(folder: &tempfile::TempDir) -> CaptureBuilder {
    CaptureBuilder::new(folder.path(), &testing::module("test.cu", Vec::new(), &[]))
}

/// Adds a launch; its record contains the allocations that are live at that point.
fn add_launch(capture: &mut CaptureBuilder) {
    capture.begin(testing::launch("kernel", 1, 32));
}

#[test]
fn reused_memory_belongs_to_the_live_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = builder(&folder);
    let symbol = AllocationKind::Symbol {
        name: "weights".into(),
    };
    let device = AllocationKind::Device;
    events.allocate(5000, 10, symbol);
    add_launch(&mut events);
    let first = events.allocate(1000, 100, device.clone());
    events.allocate(1100, 100, device.clone());
    add_launch(&mut events);
    events.free(first);
    add_launch(&mut events);
    events.allocate(1000, 50, device);
    add_launch(&mut events);
    let capture = events.kill();
    let records: Vec<_> = capture.launches().collect();
    let at = |launch: usize, address: u64| {
        let found = records[launch].allocations.find(address)?;
        Some((found.key.to_string(), address - found.address))
    };
    let heap = |ordinal: u32, offset: u64| Some((format!("#{ordinal}"), offset));
    assert_eq!(at(0, 1000), None);
    assert_eq!(at(1, 1099), heap(0, 99));
    assert_eq!(at(1, 1100), heap(1, 0));
    assert_eq!(at(2, 1000), None);
    assert_eq!(at(3, 1049), heap(2, 49));
    assert_eq!(at(3, 1050), None);
    assert_eq!(at(3, 1199), heap(1, 99));
    assert_eq!((at(3, 999), at(3, 1200)), (None, None));
    assert_eq!(
        at(3, 5009),
        Some(("weights".into(), 9)),
        "symbols have no heap ordinals"
    );
    let freed: Vec<_> = capture.allocations().iter().map(|a| a.freed).collect();
    assert_eq!(freed, [None, Some(5), None, None]);
}

#[test]
fn names_added_to_a_capture_are_read_again_and_damaged_ones_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = builder(&folder);
    let place = |line| SourcePlace {
        file: "pc.cu".into(),
        line,
        column: 3,
    };
    events.allocate_from(Some(place(26)), 1000, 100, AllocationKind::Device);
    events.allocate_from(Some(place(27)), 2000, 100, AllocationKind::Device);
    let mut capture = events.finish();
    let names = Names {
        program: Some("pc.cu".into()),
        arrays: vec![ArrayName {
            place: place(26),
            name: "buf".into(),
        }],
    };
    let state = |capture: &Capture| {
        let names = capture.allocations().iter();
        let names: Vec<_> = names.map(|it| it.name().map(str::to_owned)).collect();
        (capture.header.program.clone(), names)
    };
    let expected = ("pc.cu".to_owned(), vec![Some("buf".to_owned()), None]);
    capture.add_names(names).unwrap();
    assert_eq!(state(&capture), expected);
    let again = Capture::open(folder.path()).unwrap();
    assert_eq!(state(&again), expected);
    assert!(again.complete);

    std::fs::write(folder.path().join("names.json"), "{").unwrap();
    let damaged = Capture::open(folder.path()).unwrap();
    assert!(damaged.damaged && !damaged.complete);
    assert!(damaged.problems[0].contains("names.json"));
    drop(builder(&folder));
    assert!(
        !folder.path().join("names.json").exists(),
        "older names are removed"
    );
}

/// Returns the ids of the allocations that are live at a final launch.
fn alive(mut events: CaptureBuilder) -> Vec<u32> {
    add_launch(&mut events);
    let capture = events.kill();
    let map = capture.launches().last().unwrap().allocations;
    map.iter().map(|allocation| allocation.id.0).collect()
}

#[test]
fn an_allocation_over_an_unfreed_one_replaces_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = builder(&folder);
    events.allocate(100, 100, AllocationKind::Device);
    let replaced = events.allocate(300, 100, AllocationKind::Device);
    events.allocate(150, 200, AllocationKind::Device);
    events.free(replaced);
    assert_eq!(alive(events), [2]);
}

#[test]
fn empty_allocation_contains_no_address() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = builder(&folder);
    events.allocate(100, 100, AllocationKind::Device);
    let empty = events.allocate(150, 0, AllocationKind::Device);
    events.free(empty);
    assert_eq!(alive(events), [0]);
}

proptest! {
    #[test]
    fn map_agrees_with_linear_search(
        sizes in proptest::collection::vec((0u64..50, 0u64..50, any::<bool>()), 0..30),
        addresses in proptest::collection::vec(0u64..3000, 0..50),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (mut events, mut live, mut next) = (builder(&folder), Vec::new(), 0);
        for &(gap, bytes, freed) in &sizes {
            let address = next + gap;
            next = address + bytes;
            let id = events.allocate(address, bytes, AllocationKind::Device);
            if freed {
                events.free(id);
            } else {
                live.push((id.0, address, bytes));
            }
        }
        add_launch(&mut events);
        let capture = events.kill();
        let map = capture.launches().next().unwrap().allocations;
        let mut resolver = map.resolver();
        for address in addresses {
            let expected = live.iter().find(|(_, start, bytes)| (*start..start + bytes).contains(&address));
            let expected = expected.map(|(id, start, _)| (AllocationKey::Heap(*id), address - start));
            for found in [map.find(address), resolver.find(address)] {
                let found = found.map(|it| (it.key.clone(), address - it.address));
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}
