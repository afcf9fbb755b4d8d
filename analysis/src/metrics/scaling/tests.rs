//! Tests for `scaling`.

use super::*;
use crate::Analysis;
use crate::communication::{Communication, Transfer};
use superstep_trace::SiteTable;

/// 8 × 4 CTAs; each sends 8 bytes to each neighbour in x and 2 to each in y.
#[test]
fn the_best_even_cut_of_a_stencil_has_the_fewest_crossing_bytes() {
    let grid = [8u32, 4, 1];
    let mut transfers = Vec::new();
    let mut send = |from: u32, to: u32, bytes| {
        transfers.push(Transfer {
            source_launch: 0,
            source_cta: from,
            receiver_launch: 1,
            receiver_cta: to,
            bytes,
            count: 1,
        });
    };
    for cta in 0..32 {
        if cta % 8 < 7 {
            send(cta, cta + 1, 8);
            send(cta + 1, cta, 8);
        }
        if cta / 8 < 3 {
            send(cta, cta + 8, 2);
            send(cta + 8, cta, 2);
        }
    }
    let communication = Communication {
        transfers: transfers.into(),
        ..Communication::default()
    };
    let analysis = Analysis {
        communication,
        ..Analysis::default()
    };
    let sites = SiteTable::default();
    let grids = [grid; 2];
    let source = Source::new(&analysis, &grids, &sites);
    let rows = rows(&source, 8e-9).unwrap();
    let row = |gpus, cut: &str| {
        let mut rows = rows.iter();
        rows.find(|r| r.gpus == gpus && r.cut == cut).unwrap()
    };
    // 28 pairs in x and 24 in y, both ways: 2 · (28 · 8 + 24 · 2) = 544 bytes.
    let two = row(2, "x");
    assert_eq!((two.crossing_bytes, two.imbalance), (2 * 4 * 8, 1.0));
    assert!((two.share - 64.0 / 544.0).abs() < 1e-12);
    // Each of the two links carries 32 bytes each way, at 8 bytes per second.
    assert_eq!(two.link_s, 4.0);
    let y = row(2, "y");
    assert_eq!((y.crossing_bytes, y.link_s, y.best), (2 * 8 * 2, 2.0, true));
    // Blocks of consecutive CTAs are rows here.
    assert_eq!(row(2, "linear").crossing_bytes, y.crossing_bytes);
    // All CTAs are on one GPU, so nothing crosses.
    let z = row(2, "z");
    assert_eq!((z.crossing_bytes, z.imbalance, z.best), (0, 2.0, false));
    // Each of the two middle parts has two boundaries: 2 · 16 bytes each way.
    assert_eq!(
        (row(4, "y").crossing_bytes, row(4, "y").link_s),
        (3 * 32, 4.0)
    );
    assert_eq!(row(8, "y").imbalance, 2.0);
}
