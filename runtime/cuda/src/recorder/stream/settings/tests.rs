//! Tests of `settings`.

use super::*;

#[test]
fn settings_are_read_and_unusable_ones_reported() {
    let config = Config {
        bins: Some(2),
        bin_records: Some(64),
        ..Config::default()
    };
    let read = |pairs: &'static [(&str, &str)]| {
        Settings::read(&config, 132, |name| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| (*value).to_owned())
        })
    };
    let (settings, problems) = read(&[
        ("SUPERSTEP_SINK", "count"),
        ("SUPERSTEP_RING_PIECES", "8"),
        ("SUPERSTEP_HOST_PIECES", "2"),
        ("SUPERSTEP_WORKERS", "5"),
    ]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(settings.shape, Shape::rounded(2, 64, 8, 2));
    assert_eq!(
        (settings.how.sink, settings.workers),
        (SinkChoice::Count, 2)
    );
    let (settings, problems) = read(&[("SUPERSTEP_SINK", "tape"), ("SUPERSTEP_WORKERS", "0")]);
    assert_eq!(settings.how.sink, SinkChoice::Disk);
    assert_eq!(problems.len(), 2, "{problems:?}");
}
