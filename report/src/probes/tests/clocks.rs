//! Tests for `clocks`.

use super::{Toy, rows, site};
use crate::error::ReportError;
use crate::probes::clocks::{MAX_SMS, study};
use serde_json::json;
use superstep_analysis::AnalysisError;

const FIELDS: [(&str, &str); 3] = [("start", "min"), ("end", "max"), ("sm", "max")];

fn toy() -> Toy {
    let sites = [
        site("kernel-entry", 0, 0, json!({})),
        site("kernel-exit", 1, 0, json!({})),
    ];
    Toy::new("cta", &FIELDS, &sites)
}

/// Returns the words of one CTA: its entry site has the start, and its exit site has the end.
fn cta(start: u64, end: u64, sm: u64) -> [u64; 6] {
    [start, 0, sm, u64::MAX, end, 0]
}

#[test]
fn sm_is_busy_from_first_start_to_last_end() {
    let first = [cta(100, 150, 0), cta(140, 200, 0), cta(1000, 1040, 2)];
    let study = toy()
        .launch(first.as_flattened())
        .launch(&cta(0, 60, 2))
        .study(study)
        .unwrap();
    // The longest spans are 200 - 100 on SM 0, then 60 on SM 2: 160 cycles. SM 0 is busy for 100 of them, SM 2 for 40 + 60.
    assert_eq!(
        rows(&study.tables[1]),
        json!([
            ["toy", 0, 2, 100, 62.5],
            ["toy", 1, 0, 0, 0.0],
            ["toy", 2, 2, 100, 62.5]
        ])
    );
    // 2 launches, 4 CTAs, 3 SMs of which 1 is idle; the mean of 62.5, 0 and 62.5 %.
    assert_eq!(
        rows(&study.tables[0]),
        json!([["toy", 2, 4, 160, 3, 1, 41.67, 0.0]])
    );
}

#[test]
fn too_large_sm_number_is_rejected() {
    let error = toy().launch(&cta(0, 1, MAX_SMS)).study(study).unwrap_err();
    assert!(
        matches!(
            error,
            ReportError::Analysis(AnalysisError::TooLarge { value: MAX_SMS, .. })
        ),
        "{error}"
    );
}
