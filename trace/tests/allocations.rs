//! Addresses resolve as of a point in time.

use proptest::prelude::*;
use superstep_trace::*;

fn allocate(sequence: u64, id: u32, address: u64, bytes: u64) -> Event {
    Event::Allocate {
        sequence,
        id: AllocationId(id),
        address,
        bytes,
        kind: AllocationKind::Device,
        place: None,
    }
}

fn free(sequence: u64, id: u32) -> Event {
    Event::Free {
        sequence,
        id: AllocationId(id),
    }
}

#[test]
fn memory_that_is_used_again_belongs_to_the_allocation_of_its_time() {
    let symbol = AllocationKind::Symbol {
        name: "weights".into(),
    };
    let events = [
        Event::Allocate {
            sequence: 0,
            id: AllocationId(0),
            address: 5000,
            bytes: 10,
            kind: symbol,
            place: None,
        },
        allocate(1, 1, 1000, 100),
        allocate(2, 2, 1100, 100),
        free(4, 1),
        allocate(6, 3, 1000, 50),
    ];
    let at = |sequence: u64, address: u64| {
        let map = AllocationMap::from_events(&events, sequence);
        map.resolve(address)
            .map(|(key, offset)| (key.to_string(), offset))
    };
    let heap = |ordinal: u32, offset: u64| Some((format!("#{ordinal}"), offset));
    assert_eq!(at(1, 1000), None, "an event does not see itself");
    assert_eq!(at(3, 1099), heap(0, 99));
    assert_eq!(at(3, 1100), heap(1, 0));
    assert_eq!(at(5, 1000), None);
    assert_eq!(at(7, 1049), heap(2, 49));
    assert_eq!(at(7, 1050), None);
    assert_eq!(at(7, 1199), heap(1, 99));
    assert_eq!((at(7, 999), at(7, 1200)), (None, None));
    assert_eq!(
        at(7, 5009),
        Some(("weights".into(), 9)),
        "symbols are no heap ordinals"
    );
}

#[test]
fn an_allocation_over_an_unfreed_one_replaces_it() {
    let events = [
        allocate(0, 0, 100, 100),
        allocate(1, 1, 300, 100),
        allocate(2, 2, 150, 200),
        free(3, 1),
    ];
    let map = AllocationMap::from_events(&events, 9);
    assert_eq!(
        map.iter()
            .map(|allocation| allocation.id.0)
            .collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn an_empty_allocation_holds_nothing() {
    let events = [allocate(0, 0, 100, 100), allocate(1, 1, 150, 0)];
    let map = AllocationMap::from_events(&events, 9);
    assert_eq!(map.resolve(150), Some((&AllocationKey::Heap(0), 50)));
}

proptest! {
    #[test]
    fn the_map_agrees_with_a_search_through_all(
        sizes in proptest::collection::vec((0u64..50, 0u64..50, any::<bool>()), 0..30),
        addresses in proptest::collection::vec(0u64..3000, 0..50),
    ) {
        let (mut events, mut live, mut next) = (Vec::new(), Vec::new(), 0);
        for (id, &(gap, bytes, freed)) in sizes.iter().enumerate() {
            let address = next + gap;
            next = address + bytes;
            events.push(allocate(2 * id as u64, id as u32, address, bytes));
            if freed {
                events.push(free(2 * id as u64 + 1, id as u32));
            } else {
                live.push((id as u32, address, bytes));
            }
        }
        let map = AllocationMap::from_events(&events, u64::MAX);
        let mut resolver = map.resolver();
        for address in addresses {
            let expected = live.iter().find(|(_, start, bytes)| (*start..start + bytes).contains(&address));
            let expected = expected.map(|(id, start, _)| (AllocationKey::Heap(*id), address - start));
            prop_assert_eq!(map.resolve(address).map(|(key, offset)| (key.clone(), offset)), expected.clone());
            prop_assert_eq!(resolver.resolve(address).map(|(key, offset)| (key.clone(), offset)), expected);
        }
    }
}
