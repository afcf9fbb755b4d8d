//! Tests of the exchange's formulas at small sizes.

use super::*;

#[test]
fn formulas_are_consistent() {
    let size = Size {
        words: 9,
        tile: 6,
        rounds: 3,
        launches: 4,
    };
    assert_eq!(size.accesses(), 4 * 3 * 4 * 512);
    for launch in 0..4 {
        let volume = size.volume(launch);
        let classes =
            volume.communicated_loaded_bytes + volume.self_loaded_bytes + volume.input_loaded_bytes;
        assert_eq!(classes, volume.loaded_bytes);
        let transfers = if launch > 0 {
            size.transfers(launch)
        } else {
            Vec::new()
        };
        let bytes: u64 = transfers.iter().map(|transfer| transfer.bytes).sum();
        let count: u64 = transfers.iter().map(|transfer| transfer.count).sum();
        assert_eq!(
            (bytes, count),
            (volume.received_bytes, volume.received_count)
        );
    }
}
