//! Tests for `over_time`.

use super::*;
use superstep_analysis::metrics::distance::DistanceRow;

#[test]
fn programs_whose_next_launch_reads_everything_are_named_in_a_sentence() {
    let row = |distance| DistanceRow {
        distance,
        bytes: 8,
        ..DistanceRow::default()
    };
    let metrics =
        [vec![row(0)], vec![row(0), row(2)], vec![row(1)], vec![]].map(|distances| Metrics {
            distances,
            ..Metrics::default()
        });
    let names = ["hist", "bfs", "late", "none"];
    let all: Vec<_> = names.into_iter().zip(&metrics).collect();
    let figure = distances(&all);
    let drawn: Vec<_> = figure.plots.iter().map(|plot| &*plot.title).collect();
    assert_eq!(drawn, ["bfs", "late", "none"]);
    assert_eq!(
        figure.sentence,
        "The very next launch reads all transferred bytes of hist."
    );
    assert_eq!(distances(&all[1..]).sentence, "");
    let page = super::super::markup(&distances(&all[..1]), "a").unwrap().0;
    assert!(page.contains("bytes of hist.") && !page.contains("<svg"));
}

#[test]
fn timeline_has_a_suitable_unit_and_full_names_on_hover() {
    let kernel = "a_kernel_with_a_name_that_is_much_too_long";
    let row = |begin_ns, elapsed_ns| TimelineRow {
        kernel: kernel.to_owned(),
        begin_ns,
        elapsed_ns,
        ..TimelineRow::default()
    };
    let metrics = Metrics {
        timeline: vec![row(5_000, 400), row(6_000, 1_000)],
        ..Metrics::default()
    };
    let figure = timeline(&[("program", &metrics)]);
    assert!(figure.plots[0].x.label.starts_with("microseconds"));
    let page = super::super::markup(&figure, "a").unwrap().0;
    let hover = format!("<title>{kernel}: 400 ns, starting at 0 ns</title>");
    assert!(
        page.contains(&hover) && page.contains("a_kernel_with_a_…<"),
        "{page}"
    );
    assert!(!page.contains("legend"));
}
