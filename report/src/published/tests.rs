//! Checks that the published numbers are complete, and that the page in the repository is up to date.

use super::beside::Summary;
use super::measured::Reproduction;
use super::*;
use crate::claims::PROGRAMS;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn recorded() -> Reproduction {
    let text = fs::read_to_string(root().join("docs/reproduction.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_quantity_has_one_source_and_every_series_a_program() {
    let data = data();
    for (place, quantity) in Quantity::all().enumerate() {
        assert_eq!(quantity as usize, place);
        let source = source(quantity.figure()).expect("every quantity has a source");
        assert_eq!(
            quantity.is_read_off(),
            source.starts_with("read off the plot")
        );
        assert_ne!(quantity.is_read_off(), source.contains("notebook"));
        assert!(data.series.iter().any(|series| series.quantity == quantity));
    }
    let has_numbers = |figure: &str| Quantity::all().any(|quantity| quantity.figure() == figure);
    assert!(data.sources.keys().all(|figure| has_numbers(figure)));
    assert_eq!((source("6.2"), source("6.6")), (None, None));
    let mut seen = Vec::new();
    for series in &data.series {
        assert!(PROGRAMS.contains(&series.program.as_str()));
        let key = (series.program.as_str(), series.quantity);
        assert!(!seen.contains(&key), "{key:?} twice");
        seen.push(key);
        if matches!(series.quantity.figure(), "6.3" | "6.5") {
            let all: f64 = series.values.iter().map(|(_, share)| share).sum();
            assert!((all - 100.0).abs() < 1e-6, "{key:?} sums to {all}");
        }
    }
    // Only the original graph, from a data mirror, needs no reason.
    let manifest = fs::read_to_string(root().join("suites/thesis/bfs.yaml")).unwrap();
    let mut hashes = data
        .reasons
        .iter()
        .filter_map(|it| it.unless_input.as_ref());
    assert!(hashes.next().is_some_and(|hash| manifest.contains(hash)));
}

/// To update the page after a run with different numbers, use `superstep report RUN_DIR --reproduction docs`; after a
/// change to the page alone, use `SUPERSTEP_BLESS=1 cargo test --profile quick -p superstep-report`.
#[test]
fn page_in_the_repository_is_up_to_date() {
    let path = root().join("docs/reproduction.md");
    let page = document::markdown(&recorded());
    if std::env::var_os("SUPERSTEP_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap();
    let mut lines = there.lines().zip(page.lines());
    let first = lines.find(|(there, now)| there != now);
    assert!(
        there == page,
        "docs/reproduction.md is out of date: {first:?}"
    );
}

#[test]
fn recorded_run_has_the_golden_digests() {
    let recorded = recorded();
    assert_eq!(recorded.programs.len(), PROGRAMS.len());
    for program in &recorded.programs {
        let path = format!("golden/thesis/{}.thesis.json", program.name);
        let golden = fs::read_to_string(root().join(path)).unwrap();
        let golden: serde_json::Value = serde_json::from_str(&golden).unwrap();
        assert!(program.passed);
        assert_eq!(
            golden["digest"].as_str(),
            program.digest.as_deref(),
            "{} communicates differently now; regenerate docs/reproduction.md as described there",
            program.name
        );
    }
}

#[test]
fn four_programs_are_equal_and_each_difference_has_a_reason() {
    let rows = beside(&recorded());
    assert_eq!(rows.len(), 221);
    for row in &rows {
        let differs = row.agreement.is_difference();
        assert_eq!(differs, !row.reason.is_empty(), "{row:?}");
        assert!(row.agreement != Agreement::Differs, "{row:?}");
        let is_exact = ["hs2d", "hs3d", "hist"].contains(&row.application.as_str())
            || row.application == "nbody" && row.figure != "6.5";
        assert!(!(is_exact && differs), "{row:?}");
        if row.application == "bfs" && differs {
            assert!(row.reason.contains("a different graph"), "{row:?}");
        }
    }
    let path = rows
        .iter()
        .find(|row| row.application == "path" && row.quantity == Quantity::Communicated);
    let path = path.unwrap();
    assert_eq!((path.published, path.measured), (582_336.0, 582_448.0));
    assert!(path.reason.contains("112 bytes"));
}

#[test]
fn original_graph_needs_no_reason() {
    let mut recorded = recorded();
    let data = data();
    let hash = data.reasons.iter().find_map(|it| it.unless_input.clone());
    let mut programs = recorded.programs.iter_mut();
    let bfs = programs.find(|program| program.name == "bfs").unwrap();
    bfs.inputs = vec![hash.unwrap()];
    let rows = beside(&recorded);
    let mut of_bfs = rows.iter().filter(|row| row.application == "bfs");
    assert!(of_bfs.all(|row| !row.reason.contains("graph")));
    // A difference without a matching reason is marked as unexplained.
    let mut distance = recorded.series.iter_mut();
    let distance = distance
        .find(|it| it.program == "hs2d" && it.quantity == Quantity::Stored)
        .unwrap();
    distance.values[0].1 += 1.0;
    let rows = beside(&recorded);
    let unexplained = rows
        .iter()
        .find(|row| row.application == "hs2d" && !row.reason.is_empty());
    assert_eq!(unexplained.unwrap().reason, "not explained");
}

#[test]
fn supersteps_with_the_same_values_share_a_line() {
    let rows = beside(&recorded());
    let all = lines(&rows, "6.7");
    let values_of = |what: &str| {
        let mut all = all.iter().filter(|line| line.application == "path");
        let line = all.find(|line| line.what == what).unwrap();
        [&line.published, &line.measured, &line.difference].map(String::as_str)
    };
    assert_eq!(
        values_of("bytes stored, supersteps 0 to 2"),
        ["73,920", "73,920", "equal"]
    );
    assert_eq!(
        values_of("bytes stored, superstep 3"),
        ["360,000", "360,688", "within 1 %"]
    );
    assert_eq!(
        values_of("bytes received, superstep 3"),
        ["64,000", "73,920", "+9,920 (+15.5 %)"]
    );
}

#[test]
fn summary_by_program_counts_all_figures() {
    let rows = beside(&recorded());
    let programs = by_program(&rows);
    assert_eq!(programs.len(), PROGRAMS.len());
    let figures = summary(&rows);
    let counts: [fn(&Summary) -> u64; 3] = [|it| it.equal, |it| it.close, |it| it.differ];
    for count in counts {
        let [all, each] = [&programs, &figures].map(|rows| rows.iter().map(count).sum::<u64>());
        assert_eq!(all, each);
    }
    let bfs = programs.iter().find(|it| it.application == "bfs").unwrap();
    assert!(bfs.differ > 50 && bfs.unexplained == 0, "{bfs:?}");
    assert_eq!(bfs.reasons.matches("a different graph").count(), 1);
}
