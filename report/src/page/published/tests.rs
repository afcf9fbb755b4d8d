//! Tests for `published`.

use super::*;
use crate::page::tests::index;
use crate::page::tests::{check_nesting, metrics, run};
use superstep_analysis::run_summary::{ByteCounts, CommunicationSummary};

/// Returns a run of two programs at the thesis's size; `hs2d` has the published volumes.
fn published_run() -> RunSummary {
    let mut run = run();
    run.size = SIZE.to_owned();
    let hs2d = &mut run.benchmarks[0];
    hs2d.bytes = Some(ByteCounts {
        loaded: 18_496_000,
        stored: 5_242_880,
        atomic: 0,
    });
    hs2d.communication = Some(CommunicationSummary::new(5_242_880, 2_300_928));
    run
}

#[test]
fn published_values_are_in_and_below_the_figures() {
    let measured = vec![("hs2d".to_owned(), metrics())];
    let page = index(&published_run(), &measured).unwrap();
    check_nesting(&page);
    for text in [
        "Vermilion lines mark",
        "href=\"#published\"",
        "Figure 6.1, published values from the thesis's notebook write-com-ration",
        "18,496,000",
        "The thesis published no numbers for figure 6.2.",
        "The thesis published no numbers for figure 6.6.",
        "Figure 6.9: published and measured",
        "not explained",
        "<b>Published values</b>",
        "of them unexplained",
    ] {
        assert!(page.contains(text), "the page lacks {text}");
    }
    // Figures 6.1, 6.3, 6.4, 6.7 and 6.9: these metrics have no strides, and distances are published only for bfs.
    assert_eq!(page.matches("</i>published</li>").count(), 5);
    assert_eq!(page.matches("published and measured</summary>").count(), 5);
}

#[test]
fn runs_of_other_sizes_mention_published_values() {
    let measured = vec![("hs2d".to_owned(), metrics())];
    let page = index(&run(), &measured).unwrap();
    assert!(page.contains("values for the size <code>thesis</code>"));
    assert!(!page.contains("id=\"published\"") && !page.contains("Vermilion lines mark"));
    let mut other = published_run();
    other.suite = "rodinia".to_owned();
    let page = index(&other, &measured).unwrap();
    assert!(!page.contains("vermilion") && !page.contains("that the thesis published"));
}

#[test]
fn partial_recordings_are_not_compared() {
    let measured = vec![("hs2d".to_owned(), metrics())];
    let mut run = published_run();
    run.benchmarks[0].in_situ = true;
    assert!(published::of_run(&run, &measured).is_empty());
    run.benchmarks[0].in_situ = false;
    let rows = published::of_run(&run, &measured);
    let stored = rows.iter().find(|row| row.quantity == Quantity::Stored);
    assert_eq!(stored.unwrap().agreement, Agreement::Equal);
}
