//! Tests for `overheads`.

use super::rows;
use crate::probes::Study;
use crate::probes::overheads::{ProbedBenchmark, add_overheads};
use serde_json::json;

fn study(suite: &str, probe: &str, costs: &[&ProbedBenchmark]) -> Study {
    let mut found = Study::default();
    add_overheads(&mut found, suite, probe, costs);
    found
}

#[test]
fn ratios_are_compared_with_published_ones() {
    let cost = |name: &str, [native_kernel_ms, probed_kernel_ms]: [f64; 2]| ProbedBenchmark {
        name: name.into(),
        launches: 1,
        native_s: 1.0,
        probed_s: 1.5,
        native_kernel_ms,
        probed_kernel_ms,
        ..ProbedBenchmark::default()
    };
    let costs = [&cost("nn", [2.0, 5.0]), &cost("new", [0.0, 0.0])];
    let found = study("rodinia", "branches", &costs);
    let table = &found.tables[0];
    let ratios = |row| ["total_ratio", "kernel_ratio"].map(|ratio| table.text(row, ratio));
    assert_eq!(ratios(0), ["1.5", "2.5"].map(|text| Some(text.to_owned())));
    assert_eq!(ratios(1)[1], None);
    assert_eq!(
        rows(&found.tables[1]),
        json!([
            ["nn", "total_ratio", 1.5, 1.0],
            ["nn", "kernel_ratio", 2.5, 2.0]
        ])
    );
    assert_eq!(found.figures[0].legend.len(), 3);
    crate::figures::svg(&found.figures[0]).unwrap();
    for (suite, probe) in [("thesis", "branches"), ("rodinia", "cta-clocks")] {
        let found = study(suite, probe, &costs);
        assert_eq!(found.tables.len(), 1, "no published numbers");
        assert_eq!(found.figures[0].legend.len(), 2);
        assert!(!found.figures[0].description.contains("SASSI"));
    }
    crate::figures::svg(&study("rodinia", "branches", &[]).figures[0]).unwrap();
}
