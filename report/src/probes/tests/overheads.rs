//! Tests of `overheads`.

use crate::probes::overheads::{Cost, overheads};

#[test]
fn ratios_are_compared_with_published_ones() {
    let cost = |program: &str, kernels_ms| Cost {
        program: program.into(),
        launches: 1,
        total_s: [1.0, 1.5],
        kernels_ms,
    };
    let costs = [cost("nn", [2.0, 5.0]), cost("new", [0.0, 0.0])];
    let figure = overheads("rodinia", "branches", &costs);
    let ratios = [
        "total_ratio",
        "kernel_ratio",
        "sassi_total_ratio",
        "sassi_kernel_ratio",
    ];
    let of = |row| ratios.map(|ratio| figure.table.text(row, ratio));
    assert_eq!(
        of(0),
        ["1.5", "2.5", "1.0", "2.0"].map(|text| Some(text.to_owned()))
    );
    assert_eq!(of(1)[1..], [None, None, None]);
    assert_eq!(figure.legend.len(), 3);
    let figure = overheads("thesis", "branches", &costs);
    assert_eq!(figure.legend.len(), 2, "no SASSI values");
    crate::figures::svg(&figure, "a").unwrap();
    crate::figures::svg(&overheads("rodinia", "branches", &[]), "b").unwrap();
}
