//! Tests for `trends`.

use super::*;
use superstep_analysis::run_summary::{Seconds, ThreadCounts};

const EVIL: &str = "../../<script>alert('&')</script>";

fn program(name: &str, traced: f64) -> BenchmarkSummary {
    BenchmarkSummary {
        name: name.to_owned(),
        status: Status::Passed,
        capture_bytes: Some(300),
        threads: Some(ThreadCounts {
            loads: 100,
            stores: 40,
            atomics: 10,
        }),
        seconds: Seconds {
            native_kernel: Some(1.0),
            traced_kernel: Some(traced),
            analysis: Some(0.5),
            ..Seconds::default()
        },
        ..BenchmarkSummary::default()
    }
}

fn run(day: u32, suite: &str, benchmarks: Vec<BenchmarkSummary>) -> RunSummary {
    RunSummary {
        suite: suite.to_owned(),
        size: "small".to_owned(),
        device: "a GPU".to_owned(),
        started: format!("2026-11-{day:02}T02:17:00Z"),
        benchmarks,
        ..RunSummary::default()
    }
}

#[test]
fn runs_of_a_suite_are_ordered_by_start() {
    let failed = BenchmarkSummary {
        status: Status::Failed,
        ..program("b", 9.0)
    };
    let runs = [
        run(3, "thesis", vec![program("a", 3.0), failed]),
        run(1, "thesis", vec![program("a", 2.0), program("b", 8.0)]),
        run(2, "thesis", vec![]),
        run(1, "rodinia", vec![program("a", 7.0)]),
    ];
    let groups = groups(&runs);
    assert_eq!(groups.len(), 2, "suites are not mixed");
    let thesis = &groups["thesis, size small, a GPU"];
    let [slowdown, capture, analysis] = QUANTITIES.each_ref().map(|it| it.figure(thesis));
    let lines = |figure: &Multiples| -> Vec<(String, Vec<(f64, f64)>)> {
        let points = |plot: &Plot| {
            let points = plot.marks.iter().filter_map(|mark| match mark {
                Mark::Point(point, _) => Some(*point),
                _ => None,
            });
            (plot.title.clone(), points.collect())
        };
        figure.plots.iter().map(points).collect()
    };
    let found = lines(&slowdown);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["all programs", "a", "b"]);
    assert_eq!(found[1].1, [(0.5, 2.0), (2.5, 3.0)]);
    assert_eq!(found[2].1, [(0.5, 8.0)], "a failed program has no value");
    let (mean, last) = (found[0].1[0].1, found[0].1[1]);
    assert!((mean - 4.0).abs() < 1e-9, "{mean}");
    assert!(last.0 == 2.5 && (last.1 - 3.0).abs() < 1e-9);
    assert_eq!(lines(&capture)[1].1[0].1, 2.0);
    assert_eq!(lines(&analysis)[1].1[0].1, 300.0);
}

#[test]
fn page_is_written_with_escaped_names() {
    let folder = tempfile::tempdir().unwrap();
    let evil = run(1, EVIL, vec![program(EVIL, f64::NAN)]);
    let runs = [
        run(1, "thesis", vec![program("a", 2.0)]),
        run(2, "thesis", vec![program("a", 3.0)]),
        RunSummary {
            device: EVIL.to_owned(),
            started: EVIL.to_owned(),
            tool: EVIL.to_owned(),
            ..evil
        },
    ];
    let out = folder.path().join("trends");
    let page = fs::read_to_string(write(&out, &runs).unwrap()).unwrap();
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert!(page.contains("Trends of 3 runs"));
    assert_eq!(
        page.matches("<figure>").count(),
        3 + 2,
        "a slowdown that is not a number has no figure"
    );
    let csv = fs::read_to_string(out.join("figures/1/trend-slowdown.csv")).unwrap();
    assert!(csv.contains("2026-11-02T02:17:00Z,a,3"), "{csv}");
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1);
}

#[test]
fn runs_without_programs_have_only_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &[run(1, "thesis", vec![])]).unwrap();
    let page = fs::read_to_string(path).unwrap();
    assert!(page.contains("0 of 0") && !page.contains("<svg"), "{page}");
}
