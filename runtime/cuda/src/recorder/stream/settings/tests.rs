//! Tests for `settings`.

use super::*;
use std::num::{NonZeroU32, NonZeroUsize};

#[test]
fn configured_sizes_are_used_and_workers_do_not_exceed_rings() {
    let config = Config {
        bins: Some(2),
        bin_records: NonZeroU32::new(64),
        ring_pieces: NonZeroUsize::new(8),
        host_pieces: NonZeroUsize::new(2),
        workers: NonZeroUsize::new(5),
        sink: RecordSink::Count,
        ..Config::default()
    };
    let settings = Settings::new(&config, 132);
    assert_eq!(settings.shape, Shape::rounded(2, 64, 8, 2));
    assert_eq!((settings.sink, settings.workers), (RecordSink::Count, 2));
}
