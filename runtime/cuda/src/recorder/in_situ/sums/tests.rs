//! Tests for `sums`.

use super::*;
use superstep_trace::{LaunchId, StreamId};

#[test]
fn copies_add_up_by_operation_width_and_class() {
    let launch = Launch {
        sequence: 0,
        stream: StreamId(1),
        launch: LaunchId(2),
        kernel: String::new(),
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        parent: None,
        device: 0,
    };
    let mut copies = vec![0; COPIES * SUMS];
    copies[2 * CLASSES] = 32; // communicated 4-byte loads
    copies[SUMS + 2 * CLASSES] = 1;
    copies[2 * CLASSES + INPUT_CLASS] = 40; // all 4-byte loads
    copies[(WIDTHS + 3) * CLASSES + 7] = 5; // 8-byte stores
    copies[BYTES + 2] = 3;
    copies[MISSING] = 30;
    copies[ODD_THREADS] = 1;
    copies[ODD_BYTES] = 3;
    let found = of_launch(&launch, &copies).sums;
    assert_eq!(
        (found.loads.threads, found.loads.bytes, found.loads.warps),
        (41, 163, 2)
    );
    assert_eq!((found.stores.threads, found.stores.bytes), (5, 40));
    assert_eq!((found.loaded.communicated, found.loaded.input), (132, 31));
}

#[test]
fn rows_are_transfers_or_first_reads() {
    let packed = |launch: u64, cta: u64| launch << LAUNCH_SHIFT | cta << CTA_SHIFT;
    let row = |source, receiver, bytes, count| Transfer {
        source,
        receiver,
        bytes,
        count,
        stored: 4,
        unused: 0,
    };
    let found = parts(&[
        Transfer::default(),
        row(packed(1, 7), packed(2, 9), 8, 2),
        row(packed(1, OF_LAUNCHES), packed(2, OF_LAUNCHES), 0, 4),
    ]);
    assert_eq!(found.received.len(), 1);
    let Received {
        source_launch,
        source_cta,
        receiver_launch,
        receiver_cta,
        ..
    } = found.received[0];
    assert_eq!(
        (source_launch, source_cta, receiver_launch, receiver_cta),
        (0, 7, 1, 9)
    );
    let first_reads: Vec<_> = (found.first_read.iter())
        .map(|part| (part.stored_bytes, part.several_bytes))
        .collect();
    assert_eq!(first_reads, [(4, 0), (4, 4)]);
}
