//! Tests for density maps of selected CTAs, with values derived by hand.

use super::density::{Axis, DensityRow};
use super::tests::{Step, metrics_with};
use super::{CtaWindow, Settings};
use superstep_trace::Op;

/// Each of 1000 CTAs in a row sends one word to the next. The window has more CTAs than cells.
#[test]
fn a_window_of_the_density_map_is_downsampled_like_the_whole() {
    let ctas = 1000u32;
    let word = |cta: u32| 0x1000 + 4 * u64::from(cta);
    let program = [
        Step {
            kernel: "f",
            grid: [ctas, 1, 1],
            accesses: (0..ctas).map(|cta| (cta, Op::Store, word(cta))).collect(),
        },
        Step {
            kernel: "g",
            grid: [ctas, 1, 1],
            accesses: (1..ctas)
                .map(|cta| (cta, Op::Load, word(cta - 1)))
                .collect(),
        },
    ];
    let window = |text: &str| {
        let settings = Settings {
            density: Some(CtaWindow::parse(text).unwrap()),
            ..Settings::default()
        };
        let mut rows = metrics_with(&program, &settings).density;
        rows.retain(|row| row.map == "part");
        rows
    };
    // Each of 200 cells has two of the 400 sources: cell k has 300 + 2k and 301 + 2k, which send to the next CTAs.
    let rows = window("300-699");
    let cells = |rows: &[DensityRow]| {
        rows.iter()
            .map(|row| (row.source, row.receiver, row.count))
            .collect::<Vec<_>>()
    };
    assert_eq!(cells(&rows)[..3], [(0, 0, 1), (0, 1, 1), (1, 1, 1)]);
    assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), 399);
    assert_eq!((rows[0].side, rows[0].ctas), (200, 400));
    // Different sources and receivers.
    let rows = window("500-509:504-505");
    assert_eq!(cells(&rows), [(3, 0, 1), (4, 1, 1)]);
    assert_eq!(
        rows[0].axes(),
        [
            Axis {
                first: 500,
                ctas: 10
            },
            Axis {
                first: 504,
                ctas: 2
            }
        ]
    );
    // An empty window, or one past the last CTA, has one empty cell.
    assert_eq!(cells(&window("0-9:500-509")), [(0, 0, 0)]);
    let beyond = window("5000-5999");
    assert_eq!(
        (cells(&beyond), beyond[0].axes()[0]),
        (
            vec![(0, 0, 0)],
            Axis {
                first: 5000,
                ctas: 1
            }
        )
    );
}

/// Each of 4000 CTAs writes a word that CTA 3 of 64 reads.
#[test]
fn each_axis_of_the_whole_map_ends_at_its_own_highest_number() {
    let word = |cta: u32| 0x1000 + 4 * u64::from(cta);
    let program = [
        Step {
            kernel: "count",
            grid: [4000, 1, 1],
            accesses: (0..4000).map(|cta| (cta, Op::Store, word(cta))).collect(),
        },
        Step {
            kernel: "merge",
            grid: [64, 1, 1],
            accesses: (0..4000).map(|cta| (3, Op::Load, word(cta))).collect(),
        },
    ];
    let rows = metrics_with(&program, &Settings::default()).density;
    let axes = |map: &str| rows.iter().find(|row| row.map == map).unwrap().axes();
    let up_to = |ctas: [u64; 2]| ctas.map(|ctas| Axis { first: 0, ctas });
    assert_eq!(axes("whole"), up_to([4000, 4]));
    assert_eq!(axes("first"), up_to([200, 4]));
}
