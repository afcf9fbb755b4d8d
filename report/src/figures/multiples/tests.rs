//! Tests for `multiples`.

use super::*;

#[test]
fn scales_include_their_values() {
    let scale = Scale::linear(37.0, "", |v| v.to_string());
    assert_eq!((scale.high, scale.ticks.len()), (40.0, 5));
    assert_eq!(
        (scale.place(0.0), scale.place(40.0), scale.place(10.0)),
        (0.0, 1.0, 0.25)
    );
    let scale = Scale::powers(16.0, 96.0, "", |v| v.to_string());
    assert_eq!((scale.low, scale.high), (16.0, 128.0));
    assert!((scale.place(32.0) - 1.0 / 3.0).abs() < 1e-9);
    let one = Scale::powers(1.0, 1.0, "", |v| v.to_string());
    assert_eq!((one.low, one.high), (1.0, 2.0));
    assert_eq!(Scale::linear(0.0, "", |v| v.to_string()).high, 1.0);
    assert_eq!(Scale::numbers(24, "").ticks.len(), 5);
    let part = Scale::within(130.0, 280.0, "", |v| v.to_string());
    let ticks: Vec<_> = part.ticks.iter().map(|tick| tick.1.as_str()).collect();
    assert_eq!((part.low, part.high), (130.0, 280.0));
    assert_eq!(ticks, ["150", "200", "250"]);
    assert_eq!(
        Scale::within(7.0, 8.0, "", |v| v.to_string()).ticks[0].0,
        7.0
    );
    assert_eq!(Scale::numbers(0, "").ticks.len(), 0);
}

#[test]
fn ticks_of_bytes_are_round_in_their_unit() {
    let scale = Scale::bytes(5_000_000.0, "");
    let ticks: Vec<_> = scale.ticks.iter().map(|tick| tick.1.as_str()).collect();
    assert_eq!(ticks, ["0 B", "1 MiB", "2 MiB", "3 MiB", "4 MiB", "5 MiB"]);
    assert_eq!(Scale::bytes(0.0, "").high, 1.0);
}

#[test]
fn a_line_keeps_its_ends_and_extremes_in_each_half_pixel() {
    let points: Vec<Point> = (0..1000)
        .map(|index| (f64::from(index) / 1000.0, f64::from(index * 7 % 13)))
        .collect();
    let reduced = visible(points.clone());
    assert!(reduced.len() <= 8, "{reduced:?}");
    assert_eq!((reduced[0], reduced.last()), (points[0], points.last()));
    for half in [0, 1] {
        let extremes = |all: &[Point]| {
            let y = all.iter().filter(|point| (2.0 * point.0) as i32 == half);
            let y: Vec<f64> = y.map(|point| point.1).collect();
            (
                y.iter().copied().fold(f64::MAX, f64::min),
                y.iter().copied().fold(0.0, f64::max),
            )
        };
        assert_eq!(extremes(&reduced), extremes(&points));
    }
    let few = vec![(0.0, 1.0), (1.0, 5.0), (2.0, 0.0)];
    assert_eq!(visible(few.clone()), few);
}
