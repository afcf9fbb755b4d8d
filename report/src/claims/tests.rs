//! Tests of the verdicts.

use super::*;
use superstep_analysis::metrics::distance::DistanceRow;

fn programs(metrics: &[Metrics; 6]) -> Vec<Program<'_>> {
    (PROGRAMS.iter().zip(metrics))
        .map(|(name, metrics)| Program {
            name,
            loaded_bytes: 100,
            stored_bytes: 10,
            share: 0.5,
            metrics: Cow::Borrowed(metrics),
        })
        .collect()
}

fn verdict(programs: &[Program<'_>], claim: &str) -> Verdict {
    let claims = evaluate(programs, false);
    let names = claims.iter().map(|claim| claim.claim.clone());
    assert!(names.eq((1..=15).map(|number| format!("C{number}"))));
    claims
        .iter()
        .find(|c| c.claim == claim)
        .map(|c| c.verdict)
        .unwrap()
}

#[test]
fn verdicts_follow_the_numbers() {
    let metrics: [Metrics; 6] = Default::default();
    let mut programs = programs(&metrics);
    assert_eq!(verdict(&programs, "C1"), Verdict::Holds);
    assert_eq!(verdict(&programs, "C2"), Verdict::Holds);
    assert_eq!(verdict(&programs, "C4"), Verdict::Differs);
    programs[4].share = 0.29;
    assert_eq!(verdict(&programs, "C1"), Verdict::Differs);
    programs[5].share = 0.4;
    assert_eq!(verdict(&programs, "C4"), Verdict::Holds);
    programs[0].stored_bytes = 11;
    assert_eq!(verdict(&programs, "C2"), Verdict::Differs);
}

#[test]
fn statement_about_distance_is_judged_by_the_distance_table() {
    let mut metrics: [Metrics; 6] = Default::default();
    let far = || {
        vec![DistanceRow {
            distance: 2,
            bytes: 8,
            share: 1.0,
        }]
    };
    assert_eq!(verdict(&programs(&metrics), "C14"), Verdict::Differs);
    metrics[5].distances = far();
    assert_eq!(verdict(&programs(&metrics), "C14"), Verdict::Holds);
    metrics[0].distances = far();
    assert_eq!(verdict(&programs(&metrics), "C14"), Verdict::Differs);
}

#[test]
fn statements_without_their_programs_are_not_judged() {
    let metrics: [Metrics; 6] = Default::default();
    let programs = programs(&metrics);
    assert_eq!(verdict(&programs[..5], "C1"), Verdict::NotMeasurable);
    assert!(evaluate(&[], false).is_empty());
    let table = superstep_table::Table::of(&evaluate(&programs, false));
    assert_eq!(table.text(0, "verdict").unwrap(), "holds");
}

#[test]
fn differing_statements_are_also_judged_by_published_numbers() {
    let metrics: [Metrics; 6] = Default::default();
    let mut programs = programs(&metrics);
    programs[4].share = 0.29;
    programs[5].share = 0.66;
    let claims = evaluate(&programs, true);
    let published = |number: usize| claims[number - 1].published.as_str();
    assert!(published(1).starts_with("not borne out: share: hs2d 43.9 %"));
    assert!(published(3).starts_with("borne out: share: nbody 90.0 %"));
    assert!(published(4).starts_with("borne out: share: bfs 32.3 %, path 29.1 %"));
    assert!(published(6).starts_with("not judged"));
    assert!(published(10).contains("hs3d: y cut 24.3 %, x cut 1.9 %"));
    assert!(published(2).is_empty(), "it holds");
    let other_size = evaluate(&programs, false);
    assert!(other_size.iter().all(|claim| claim.published.is_empty()));
}
