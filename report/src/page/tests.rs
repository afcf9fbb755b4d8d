//! Tests of the page's structure and escaping.

mod front;
mod hostile;

use super::*;
use superstep_analysis::metrics::bounds::BoundRow;
use superstep_analysis::metrics::{CtaWindow, Settings};
use superstep_analysis::run_summary::{
    ByteCounts, Check, CommunicationSummary, Host, InputRecord, KernelSummary, OpaqueSummary,
    Seconds, Status, ThreadCounts,
};
use superstep_trace::{Bounds, Failure, FailureKind, KernelTotals, Summary};

pub(super) fn run() -> RunSummary {
    let bytes = ByteCounts {
        loaded: 3_699_200,
        stored: 1_048_576,
        atomic: 0,
    };
    RunSummary {
        schema_version: 1,
        tool: "superstep 0.1.0".into(),
        suite: "thesis".into(),
        size: "small".into(),
        backend: superstep_trace::Backend::Cpu,
        device: "Example CPU".into(),
        started: "2026-01-02T03:04:05Z".into(),
        finished: "2026-01-02T03:05:05Z".into(),
        command: vec!["superstep".into(), "suite".into(), "thesis".into()],
        matching: Matching::default(),
        host: Host {
            cpu: "Example CPU".into(),
            cores: 2,
        },
        planned: vec!["hs2d".into(), "bfs".into()],
        complete: true,
        resumed: Vec::new(),
        benchmarks: vec![
            BenchmarkSummary {
                name: "hs2d".into(),
                title: "Hotspot 2D".into(),
                status: Status::Passed,
                launches: Some(5),
                ctas: Some(9245),
                threads: Some(ThreadCounts {
                    loads: 924_800,
                    stores: 262_144,
                    atomics: 0,
                }),
                bytes: Some(bytes),
                kernels: vec![KernelSummary {
                    name: "step<float>".into(),
                    launches: 5,
                    ctas: 9245,
                    loads: 924_800,
                    stores: 262_144,
                    atomics: 0,
                    bytes,
                }],
                digest: Some("0123456789abcdef0123456789abcdef".into()),
                deterministic: true,
                capture_bytes: Some(123_456),
                seconds: Seconds {
                    native: Some(0.1234),
                    traced: Some(1.5),
                    ..Seconds::default()
                },
                inputs: vec![InputRecord {
                    name: "temp_512".into(),
                    sha256: "ab".repeat(32),
                    origin: "generated".into(),
                }],
                verification: vec![Check {
                    check: "output-equal".into(),
                    ok: true,
                    detail: "stdout and 1 file".into(),
                    warning: true,
                    not_compared: None,
                }],
                communication: Some(CommunicationSummary::new(1_048_576, 500_000)),
                ..BenchmarkSummary::default()
            },
            BenchmarkSummary {
                name: "bfs".into(),
                title: "Breadth <first> search".into(),
                failure: Some(Failure::new(
                    FailureKind::Build,
                    "error: expected ';' <here> & there",
                )),
                ..BenchmarkSummary::default()
            },
        ],
    }
}

/// Checks that every element of the page is closed in order.
pub(super) fn check_nesting(page: &str) {
    const VOID: [&str; 3] = ["meta", "!DOCTYPE", "img"];
    let mut open: Vec<&str> = Vec::new();
    // Scripts contain angle brackets that do not belong to tags.
    let (before, script) = page
        .split_once("<script type=\"module\">")
        .expect("a page has a script");
    let after = script.split_once("</script>").expect("the script ends").1;
    let page = format!("{before}{after}");
    let mut rest = &*page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        let name = tag
            .trim_start_matches('/')
            .split([' ', '\n', '/'])
            .next()
            .unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(
                open.pop(),
                Some(name),
                "near {}",
                &rest[..rest.len().min(80)]
            );
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Renders the page of a run without source files.
pub(super) fn index(run: &RunSummary, measured: &[(String, Metrics)]) -> Result<String> {
    page(run, measured, Path::new("none"))
}

#[test]
fn page_is_well_formed_and_complete() {
    let page = index(&run(), &[]).unwrap();
    check_nesting(&page);
    for text in [
        "2 benchmarks: <span class=\"word good\">1 passed</span>, <span class=\"word bad\">1 failed</span>",
        "passed, 1 warning",
        "924,800",
        "3,699,200",
        "47.7 %",
        "01234567 (the same in every run)",
        "<code>0123456789abcdef0123456789abcdef</code>",
        "step&lt;float&gt;",
        "Breadth &lt;first&gt; search",
        "error: expected ';' &lt;here&gt; &amp; there",
        "generated",
        "output-equal",
        "1.500",
    ] {
        assert!(page.contains(text), "the page lacks {text}");
    }
}

#[test]
fn checks_are_collapsed_if_all_passed() {
    let mut run = run();
    let checks = |run: &RunSummary| {
        let page = index(run, &[]).unwrap();
        let (before, after) = page.split_once("<summary>Verification: ").unwrap();
        let summary = after.split_once("</summary>").unwrap().0.to_owned();
        (before.ends_with("<details open>"), summary)
    };
    let warned = "0 of 1 checks passed, 1 with a warning";
    assert_eq!(checks(&run), (true, warned.to_owned()));
    let verification = &mut run.benchmarks[0].verification;
    verification[0].warning = false;
    verification.push(verification[0].clone());
    assert_eq!(checks(&run), (false, "all checks passed (2)".to_owned()));
    run.benchmarks[0].verification[1].ok = false;
    let failed = "1 of 2 checks passed, 1 failed";
    assert_eq!(checks(&run), (true, failed.to_owned()));
}

#[test]
fn opaque_launches_are_counted_and_named() {
    let mut run = run();
    assert!(!index(&run, &[]).unwrap().contains("Opaque"));
    let totals = |name: &str, launches, ns| KernelTotals {
        name: name.into(),
        launches,
        ns,
        resources: None,
    };
    let mut summary: Summary = serde_json::from_str(
        r#"{"schema_version":1,"backend":"cuda","device":{"name":"x","compute_capability":[9,0]},"launches":2,
            "kernel_ns":1000,"kernels":[],"records_lost":0,"faults":[],"warnings":[],"counts":null,"bad_addresses":0}"#,
    )
    .unwrap();
    assert_eq!(OpaqueSummary::of(&summary), None);
    summary.opaque = vec![
        totals("_Z4gemmPf", 1200, 3000),
        totals("unnamed GPU code", 1, 0),
    ];
    run.benchmarks[0].opaque = OpaqueSummary::of(&summary);
    let page = index(&run, &[]).unwrap();
    check_nesting(&page);
    for text in [
        "1,201 launches of code that Superstep did not build, 75.0 % of the GPU's time in the untraced run",
        "<code>gemm</code>",
    ] {
        assert!(page.contains(text), "the page lacks {text}: {page}");
    }
    summary.opaque[0].ns = 0;
    assert_eq!(
        OpaqueSummary::of(&summary).and_then(|opaque| opaque.share),
        None
    );
}

#[test]
fn page_is_self_contained() {
    let page = index(&run(), &[]).unwrap();
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for text in ["http://", "https://", "<link", "@import", "src="] {
        assert!(!without_namespace.contains(text), "{text}");
    }
    assert_eq!(page.matches("<script").count(), 1);
}

#[test]
fn links_have_targets_and_tables_have_captions() {
    let page = index(&run(), &[]).unwrap();
    for part in page.split("href=\"#").skip(1) {
        let target = part.split('"').next().unwrap_or_default();
        assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
    }
    let count = |text: &str| page.matches(text).count();
    assert!(count("<table>") >= 4);
    assert_eq!(count("<table>"), count("<caption "));
    assert_eq!(count("<h1 "), 1);
    assert_eq!(count("<th>"), 0, "each header cell has a scope");
}

#[test]
fn empty_run_has_a_page() {
    let page = index(&RunSummary::default(), &[]).unwrap();
    check_nesting(&page);
    assert!(page.contains("<p>0 benchmarks.</p>"));
}

pub(super) fn metrics() -> Metrics {
    metrics_of("step", "_ZL7d_cells", "_Z6gatherPKfi", "hs2d.cu")
}

/// Returns metrics of two CTAs, one of which reads data that the other wrote. The arguments are names in the metrics.
fn metrics_of(kernel: &str, array: &str, function: &str, file: &str) -> Metrics {
    use superstep_analysis::communication::UnwrittenRead;
    use superstep_analysis::communication::{
        ArrayVolume, Communication, Footprint, LaunchStrides, LaunchVolume, SiteFlow,
        SiteFlowAmount, SiteFlowKey, Transfer, Volume,
    };
    use superstep_analysis::metrics::{AllocationInfo, Source};
    use superstep_trace::{AllocationId, LaunchId, SiteId, StreamId};
    let launch = |number| LaunchVolume {
        stream: StreamId(0),
        superstep: LaunchId(number),
        kernel: kernel.to_owned(),
        volume: Volume::default(),
    };
    let transfer = Transfer {
        source_launch: 0,
        source_cta: 0,
        receiver_launch: 1,
        receiver_cta: 1,
        bytes: 64,
        count: 16,
    };
    let communication = Communication {
        transfers: vec![transfer].into(),
        ..Communication::default()
    };
    let allocation = Some(AllocationId(0));
    let communication = Communication {
        site_flows: vec![SiteFlow {
            receiver_launch: 1,
            key: SiteFlowKey {
                source_launch: 0,
                writer: SiteId(3),
                reader: SiteId(3),
                allocation,
            },
            amount: SiteFlowAmount {
                loaded_bytes: 128,
                other_cta_bytes: 128,
            },
        }],
        arrays: vec![ArrayVolume {
            allocation,
            volume: Volume {
                received_bytes: 64,
                ..Volume::default()
            },
            ..ArrayVolume::default()
        }],
        unwritten: vec![UnwrittenRead {
            kernel: 0,
            site: SiteId(3),
            allocation: AllocationId(0),
            first_launch: 1,
            launches: 1,
            bytes: 1236,
            loaded_bytes: 2472,
        }],
        launches: vec![launch(0), launch(1)],
        strides: vec![LaunchStrides::default(); 2],
        footprints: vec![Footprint {
            touched_bytes: 4096,
            again_bytes: 1024,
            ..Footprint::default()
        }],
        ..communication
    };
    let allocations = [AllocationInfo {
        name: array.to_owned(),
        place: format!("{file}:77"),
        bytes: 4096,
    }];
    let module: superstep_trace::ModuleTable = serde_json::from_value(serde_json::json!({
        "schema_version": 1, "module": 0, "name": "hs2d.cu", "backend": "cpu", "probe": "trace", "kernels": [],
        "sites": [{
            "id": 3, "function": function, "file": file, "line": 12, "column": 1, "op": "load",
            "width_bytes": 4, "proof": "proven",
        }],
    }))
    .unwrap();
    Metrics::of(
        &Source {
            communication: &communication,
            grids: &[[2, 1, 1]; 2],
            cta_blocks: superstep_trace::CtaBlocks::default(),
            sites: &superstep_trace::SiteTable::new([&module]),
            allocations: &allocations,
            copies: &[],
        },
        &Settings {
            density: Some(CtaWindow::parse("1-1:0-1").unwrap()),
            ..Settings::default()
        },
    )
    .unwrap()
}

#[test]
fn figures_and_claims_are_in_the_page() {
    let measured = vec![
        ("hs2d".to_owned(), metrics()),
        ("bfs".to_owned(), metrics()),
    ];
    let page = index(&run(), &measured).unwrap();
    check_nesting(&page);
    let count = |text: &str| page.matches(text).count();
    // Eleven figures with all applications, and ten for each application.
    assert_eq!(count("<figure>"), 11 + 2 * 10);
    assert_eq!(count("-title\">Reads between CTAs"), 3 * 3);
    assert_eq!(count("<title>reads by CTA 1 from CTA 0: "), 2 * 2 + 2 * 2);
    for text in [
        "id=\"claims\"",
        "not measurable",
        "href=\"#communication\"",
        "stride-hs2d-title",
        "<code>d_cells</code>",
        "<code>gather</code>",
        "hs2d.cu:12",
        "hs2d.cu:77",
        "Source lines that communicate most",
        "point-to-point",
        "Footprint and reuse of each launch of bfs",
        "reads of uninitialised memory",
        "1,236",
        ">warning<",
        "25.0 %",
        "Bytes of hs2d that would cross between GPUs",
    ] {
        assert!(page.contains(text), "the page lacks {text}");
    }
    assert!(!page.contains("_Z"), "mangled names");
    let mut ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|part| part.split('"').next())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "ids are unique");
}

#[test]
fn run_is_redrawn_from_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("tables/hs2d");
    std::fs::create_dir_all(&tables).unwrap();
    superstep_analysis::tables::write(&tables, &metrics().tables()).unwrap();
    redraw(folder.path(), &run()).unwrap();
    assert!(
        std::fs::read_to_string(folder.path().join("index.html"))
            .unwrap()
            .contains("id=\"communication\"")
    );
    for file in [
        "figures/data-volume.svg",
        "figures/transfer-size.png",
        "figures/density-first.csv",
        "figures/hs2d/density-part.svg",
        "figures/hs2d/connectivity.svg",
        "tables/claims.csv",
        "tables/claims.json",
    ] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
}

#[test]
fn in_situ_run_shows_bounds() {
    let row = BoundRow {
        superstep: 1,
        kernel: "step".to_owned(),
        quantity: "received_bytes".to_owned(),
        at_least: 1234,
        at_most: 5678,
        ..BoundRow::default()
    };
    let in_situ = Metrics {
        strides: Vec::new(),
        bounds: vec![row],
        ..metrics()
    };
    assert_eq!(
        superstep_analysis::metrics::bounds::received_bytes(&in_situ),
        Bounds {
            least: 1234,
            most: 5678
        }
    );
    let mut run = run();
    let benchmark = &mut run.benchmarks[0];
    benchmark.in_situ = true;
    let communication = benchmark.communication.as_mut().unwrap();
    let between = |most| {
        Some(Bounds {
            least: 500_000,
            most,
        })
    };
    communication.communicated_bytes_between = between(600_000);
    let measured = vec![("hs2d".to_owned(), in_situ)];
    let page = index(&run, &measured).unwrap();
    check_nesting(&page);
    assert!(!page.contains("stride-hs2d-title"));
    for text in [
        "in situ: accesses were added up while kernels ran",
        "Strides (figure 6.5) need a trace; there is none for hs2d.",
        "500,000–600,000 of 1,048,576 stored bytes (47.7 %–57.2 %)",
        "Quantities with bounds",
        "1,234",
        "5,678",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let communication = run.benchmarks[0].communication.as_mut().unwrap();
    communication.communicated_bytes_between = between(1_048_576);
    let page = index(&run, &measured).unwrap();
    assert!(page.contains("≥ 500,000 of 1,048,576 stored bytes (≥ 47.7 %)"));
}

#[test]
fn sums_saturate() {
    let mut run = run();
    let bytes = run.benchmarks[0].bytes.as_mut().unwrap();
    (bytes.loaded, bytes.stored, bytes.atomic) = (u64::MAX, u64::MAX - 1, 2);
    let page = index(&run, &[]).unwrap();
    assert!(page.contains("18,446,744,073,709,551,615"));
    let plots = &Programs::of_run(&run, Vec::new()).figures()[0].plots;
    assert!(!plots.is_empty());
}
