//! Tests of the first screen and of source lines.

use super::*;
use crate::page::source_file;
use superstep_analysis::metrics::counts_by_line::LineCounts;
use superstep_analysis::metrics::line_flows::LineFlowRow;
use superstep_analysis::metrics::pattern::PatternRow;
use superstep_analysis::run_summary::WithinLaunchSummary;

/// Returns the part of a page before its second section.
fn first_screen(page: &str) -> &str {
    let at = page.match_indices("</section>").next().unwrap().0;
    &page[..at]
}

fn check(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "the page lacks {text}");
    }
}

/// Returns metrics with a flow from line 3 to line 7, and two patterns.
fn metrics_with_flow() -> Metrics {
    let flow = |superstep, bytes| LineFlowRow {
        writer_file: "src/hs2d.cu".to_owned(),
        writer_line: 3,
        reader_file: "src/hs2d.cu".to_owned(),
        reader_line: 7,
        array: "_ZL7d_cells".to_owned(),
        receiver_superstep: superstep,
        communicated_loaded_bytes: bytes,
        other_cta_bytes: 32,
        ..LineFlowRow::default()
    };
    let pattern = |pattern: &str, bytes| PatternRow {
        pattern: pattern.to_owned(),
        bytes,
        ..PatternRow::default()
    };
    let stored = LineCounts {
        file: "src/hs2d.cu".to_owned(),
        line: 3,
        operation: "store".to_owned(),
        bytes: 2048,
        ..LineCounts::default()
    };
    Metrics {
        line_flows: vec![flow(1, 128), flow(2, 384)],
        counts_by_line: vec![stored],
        patterns: vec![pattern("gather", 250), pattern("stencil", 750)],
        ..metrics()
    }
}

#[test]
fn suite_begins_with_a_row_for_each_program_and_its_warnings() {
    let mut run = run();
    run.benchmarks[0].verification[0].detail = "kernel step reads 8 bytes".to_owned();
    run.benchmarks[0].within_launch = Some(WithinLaunchSummary {
        loaded_bytes: 50,
        of_loaded_bytes: 100,
        ..WithinLaunchSummary::default()
    });
    let page = index(&run, &[("hs2d".to_owned(), metrics_with_flow())]).unwrap();
    check(
        first_screen(&page),
        &[
            "Suite thesis, size small, on cpu",
            "<span class=\"word warning\">1 warning</span>",
            "<a href=\"#benchmark-hs2d\">hs2d</a> <span class=\"word warning\">passed, 1 warning</span>",
            "<a href=\"#benchmark-bfs\">bfs</a> <span class=\"word bad\">failed (build)</span>",
            "Warning: <a href=\"#benchmark-hs2d\">hs2d</a>: kernel step reads 8 bytes",
            "CTAs of the same launch exchange up to 50 B (50.0 % of the loaded bytes)",
            "stencil (75.0\u{a0}% of the received bytes)",
            "d_cells (100.0\u{a0}%)",
            "hs2d.cu:7 loads what hs2d.cu:3 stored (100.0\u{a0}%)",
            "<svg class=\"map\"",
        ],
    );
    assert!(!first_screen(&page).contains("<img"));
    // No statement of the thesis applies to this run.
    assert!(!first_screen(&page).contains("class=\"box\""));
    let flows =
        "<td class=\"number\">512 B</td><td class=\"number\">64 B</td><td class=\"number\">2</td>";
    check(&page, &[flows, "each byte counts once for each"]);
}

#[test]
fn page_of_one_program_has_its_command_and_each_figure_once() {
    let mut run = run();
    run.benchmarks.truncate(1);
    run.planned.truncate(1);
    run.suite = "hs2d".to_owned();
    let words = "superstep run --kernel step ./hs2d.cu -- 64 2";
    run.command = words.split(' ').map(str::to_owned).collect();
    run.benchmarks[0].title = "hs2d".to_owned();
    let page = index(&run, &[("hs2d".to_owned(), metrics_with_flow())]).unwrap();
    check_nesting(&page);
    check(
        &page,
        &["<h1 id=\"top\">hs2d.cu -- 64 2</h1>", "1 benchmark: "],
    );
    assert_eq!(page.matches("<figure>").count(), 11);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("Kernels of hs2d") < place("<figure>"));
    let mut process = run.benchmarks[0].clone();
    process.process = serde_json::from_value(serde_json::json!({
        "rank": 0, "pid": 7, "earlier": 0, "program": "hs2d", "arguments": [],
    }))
    .unwrap();
    run.benchmarks.push(process);
    check(
        &index(&run, &[]).unwrap(),
        &["hs2d.cu -- 64 2</h1>", "Counts and times"],
    );
    assert!(!page.contains("hs2d suite") && !page.contains("hs2d <span class=\"soft\">hs2d"));
}

#[test]
fn failed_program_has_no_empty_figure_or_device() {
    let mut run = run();
    run.benchmarks.remove(0);
    run.planned.truncate(1);
    run.device = String::new();
    let page = index(&run, &[]).unwrap();
    assert!(!page.contains("<figure>") && !page.contains("Device: "));
    check(&page, &["unknown (cpu)", "error: expected"]);
}

#[test]
fn source_lines_come_from_the_files_in_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("tables/hs2d");
    std::fs::create_dir_all(&tables).unwrap();
    superstep_analysis::tables::write(&tables, &metrics_with_flow().tables()).unwrap();
    let page = || {
        redraw(folder.path(), &run()).unwrap();
        std::fs::read_to_string(folder.path().join("index.html")).unwrap()
    };
    assert!(!page().contains("Source of hs2d"));
    let file = source_file(folder.path(), "hs2d", "../src/hs2d.cu");
    assert!(file.starts_with(folder.path().join("benchmarks/hs2d/sources")));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let lines = (1..=40).map(|number| format!("line<{number}>\n"));
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let page = page();
    check_nesting(&page);
    check(
        &page,
        &[
            "Source of hs2d",
            // Nothing loaded, 2048 bytes stored, nothing received, 512 bytes sent.
            "<tr style=\"--part:0.50\"><th scope=\"row\">3</th><td class=\"number\"></td><td class=\"number\"",
            "2 KiB",
            "line&lt;6&gt;",
        ],
    );
    assert!(
        !page.contains("line&lt;11&gt;"),
        "far from lines with bytes"
    );
}
