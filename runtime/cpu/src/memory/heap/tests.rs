//! Tests for `heap`.

use super::*;

#[test]
fn allocations_are_aligned_and_end_at_a_page() {
    let mut heap = Heap::default();
    for bytes in [1, 255, 256, 257, 4096, 5000, 1 << 20] {
        let address = heap.allocate(bytes, AllocationKind::Device).unwrap();
        assert_eq!(address % ALIGNMENT_BYTES as u64, 0);
        let rounded = bytes.next_multiple_of(ALIGNMENT_BYTES as u64);
        assert_eq!((address + rounded) % PAGE_BYTES as u64, 0);
        // SAFETY: the block was just allocated with at least this many bytes.
        unsafe { ((address + bytes - 1) as *mut u8).write(1) };
        let found = heap.find(address + bytes - 1);
        let found = found.map(|block| (block.bytes, block.device));
        assert_eq!(found, Some((bytes, 0)));
        assert!(heap.find(address + bytes).is_none());
    }
}

#[test]
fn addresses_outside_blocks_are_described() {
    let mut heap = Heap::default();
    assert!(heap.locate(5).is_none());
    let address = heap.allocate(100, AllocationKind::Device).unwrap();
    let located = |heap: &Heap, at| {
        let location = heap.locate(at).unwrap();
        assert_eq!(
            (location.block.address, location.block.bytes),
            (address, 100)
        );
        location.relation
    };
    assert_eq!(located(&heap, address + 104), Relation::After(4));
    assert_eq!(located(&heap, address - 8), Relation::Before(8));
    assert_eq!(located(&heap, address + 99), Relation::Inside);
    assert!(heap.is_in_tail(address + 100) && !heap.is_in_tail(address + 99));
    assert!(heap.open_tail(address + 5000) && !heap.open_tail(address + (2 << 20)));
    // SAFETY: the pages past the end of the block were just opened.
    unsafe { ((address + 5000) as *mut u8).write(1) };
    assert!(heap.free(address));
    assert!(!heap.free(address));
    assert_eq!(located(&heap, address + 3), Relation::Freed);
    assert_eq!(heap.live_bytes, 0);
}

#[test]
fn host_memory_is_registered_once() {
    let mut heap = Heap::default();
    let mut register = |address, bytes| heap.register(address, bytes, AllocationKind::Pinned, true);
    assert!(register(0x1000, 64));
    assert!(!register(0x1020, 64), "overlaps");
    assert!(!register(0xff0, 0x20), "overlaps from below");
    assert!(register(0x1040, 64));
    assert!(heap.block_at(0x1000).unwrap().is_registered());
    assert!(heap.free(0x1000));
}

#[test]
fn the_quarantine_is_bounded() {
    let mut heap = Heap::default();
    for _ in 0..QUARANTINE_COUNT + 10 {
        let address = heap.allocate(10, AllocationKind::Device).unwrap();
        assert!(heap.free(address));
    }
    assert_eq!(heap.freed.len(), QUARANTINE_COUNT);
}

#[test]
fn variables_are_named_and_never_cleared() {
    let mut heap = Heap::default();
    let name = "table".to_owned();
    assert!(heap.register(0x1000, 64, AllocationKind::Symbol { name }, false));
    let located = |heap: &Heap, at| heap.locate(at).unwrap().to_string();
    assert_eq!(located(&heap, 0x1004), "inside variable table");
    assert_eq!(
        located(&heap, 0x1048),
        "8 bytes past the end of variable table (64 bytes at 0x1000)"
    );
    assert!(!heap.block_at(0x1000).unwrap().is_registered());
    assert!(heap.clear().is_empty());
}
