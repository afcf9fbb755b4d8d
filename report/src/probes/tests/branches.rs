//! Tests for `branches`.

use super::{Toy, rows, site};
use crate::figures::multiples::Mark;
use crate::figures::palette;
use crate::probes::add_overheads;
use crate::probes::branches::study;
use serde_json::json;

const FIELDS: [(&str, &str); 4] = [
    ("executions", "sum"),
    ("active_threads", "sum"),
    ("taken_threads", "sum"),
    ("divergent", "sum"),
];

#[test]
fn branch_that_split_a_warp_once_is_divergent() {
    let sites = [
        site("branch", 0, 0, json!({})),
        site("branch", 1, 0, json!({})),
    ];
    let study = Toy::new("launch", &FIELDS, &sites)
        .launch(&[10, 320, 320, 0, 30, 960, 0, 0])
        .launch(&[10, 300, 100, 5, 0, 0, 0, 0])
        .study(study)
        .unwrap();
    // 1 of 2 branches; 5 of 10 + 10 + 30 executions.
    assert_eq!(
        rows(&study.tables[0]),
        json!([["toy", 2, 1, 50.0, 50, 5, 10.0]])
    );
    // The most executed branch comes first; 620 threads reached the other one, and 420 took it.
    assert_eq!(
        rows(&study.tables[1]),
        json!([
            ["toy", "first", "toy.cu", 11, 1, 30, 960, 0, 960, 0],
            ["toy", "first", "toy.cu", 10, 0, 20, 620, 420, 200, 5],
        ])
    );
    let divergent = Mark::Area((1.1, 0.0), (1.9, 5.0), palette::VERMILLION);
    assert!(study.figures[0].plots[0].marks.contains(&divergent));
}

#[test]
fn sassi_programs_have_published_numbers() {
    let sites = [
        site("branch", 0, 0, json!({})),
        site("branch", 1, 0, json!({})),
    ];
    let toy = Toy::new("launch", &FIELDS, &sites).launch(&[10, 320, 320, 5, 30, 960, 0, 0]);
    let published = |suite, name| {
        let mut study = toy.study_as(name, study).unwrap();
        add_overheads(&mut study, suite, "branches", &[]);
        let published = study.tables.iter().find(|it| it.name() == "published");
        published.map_or(json!([]), rows)
    };
    assert_eq!(
        published("rodinia", "srad_v2"),
        json!([
            ["srad_v2", "static_branches", 2.0, 19.0],
            ["srad_v2", "static_divergent", 1.0, 12.0],
            ["srad_v2", "static_percent", 50.0, 63.0],
            ["srad_v2", "dynamic_percent", 12.5, 21.3],
        ])
    );
    assert_eq!(
        published("rodinia", "nn"),
        json!([]),
        "nn is not in table 1"
    );
    assert_eq!(published("thesis", "srad_v2"), json!([]));
}
