//! Opens the report in a headless browser: nothing in the console, every figure visible, nothing wider than the page.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{DOUBLE, run, superstep, write_suite};
use serde_json::{Value, json};
use superstep_analysis::run_summary::{BenchmarkSummary, Check, KernelSummary, RunSummary, Status};
use superstep_report::page;

/// Returns a page that opens the report in a frame, expands everything, and records the appearance of each figure.
fn checker(report: &Path) -> String {
    format!(
        r##"<!DOCTYPE html><html><body><iframe id="page" width="1280" height="2000" src="file://{}"></iframe><pre id="result">nothing</pre>
<script>
document.getElementById('page').addEventListener('load', () => {{
  const page = document.getElementById('page').contentDocument;
  const open = Array.from(page.querySelectorAll('details[open] > summary'), summary => summary.textContent);
  page.querySelectorAll('details').forEach(part => part.open = true);
  const figures = Array.from(page.querySelectorAll('figure:has(svg, img)'), figure => {{
    const drawing = figure.querySelector('svg, img');
    if (!drawing) return {{ drawn: false }};
    const box = drawing.getBoundingClientRect();
    const drawn = drawing.tagName !== 'IMG' || (drawing.complete && drawing.naturalWidth > 0);
    const name = drawing.getAttribute('alt') || drawing.getAttribute('aria-label') || '';
    return {{ drawn, width: box.width, height: box.height, name }};
  }});
  const identifiers = Array.from(page.querySelectorAll('[id]'), element => element.id);
  const dangling = Array.from(page.querySelectorAll('a[href^="#"]'), link => link.getAttribute('href').slice(1))
    .filter(target => !page.getElementById(target));
  const width = page.documentElement.clientWidth;
  const wide = page.documentElement.scrollWidth > width;
  // A table may be wider than the box that it scrolls in; the box may not be wider than the page.
  const outside = Array.from(page.querySelectorAll('table'))
    .filter(table => (table.closest('.scroll') || table).getBoundingClientRect().right > width)
    .map(table => table.textContent.slice(0, 40));
  const twice = identifiers.filter((id, index) => identifiers.indexOf(id) !== index);
  document.getElementById('result').textContent = JSON.stringify({{ title: page.title, figures, dangling, twice, wide, outside, open }});
}});
</script></body></html>"##,
        report.display()
    )
}

/// Opens `page`, and returns the resulting document and the lines on the console.
fn browse(browser: &str, folder: &Path, page: &Path) -> (String, Vec<String>) {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--allow-file-access-from-files", "--enable-logging=stderr"])
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("browser").display()
        ))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    let console = (messages.lines())
        .filter(|line| line.contains(":CONSOLE"))
        .map(str::to_owned)
        .collect();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        console,
    )
}

/// Returns the checker's findings.
fn finding(document: &str) -> Value {
    let (_, rest) = document
        .split_once("<pre id=\"result\">")
        .expect("the checker's page");
    let text = rest.split("</pre>").next().unwrap();
    let text = text
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Checks that at a width of 1280 pixels, the page does not scroll sideways and no table is wider.
fn fits(found: &Value) {
    assert_eq!(found["wide"], false, "the page scrolls sideways");
    assert_eq!(found["outside"], json!([]), "tables wider than the page");
}

#[test]
#[ignore = "needs Clang, CUDA and a browser; `cargo xtask test` runs it"]
fn the_report_opens_without_errors_and_shows_every_figure() {
    let browser = std::env::var("SUPERSTEP_TEST_BROWSER").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let suite = write_suite(folder.path(), "{in-tree: true}", "{args: []}", DOUBLE);
    let (code, _, err) = run(superstep(folder.path())
        .args(["suite", "--backend", "cpu", "--out", "out", "--bless"])
        .arg(&suite));
    assert_eq!(code, 0, "{err}");
    let report = folder
        .path()
        .join("out/toys/latest/index.html")
        .canonicalize()
        .unwrap();
    let page = folder.path().join("checker.html");
    fs::write(&page, checker(&report)).unwrap();

    let (document, console) = browse(&browser, folder.path(), &page);
    assert!(console.is_empty(), "{console:#?}");
    let found = finding(&document);
    assert!(found["title"].as_str().unwrap().contains("toys"), "{found}");
    // Figure 6.1, the other figures for all programs together, and those of the only program.
    let figures = found["figures"].as_array().unwrap();
    assert!(figures.len() >= 17, "{} figures: {found}", figures.len());
    for figure in figures {
        let visible =
            figure["width"].as_f64() > Some(100.0) && figure["height"].as_f64() > Some(100.0);
        assert!(figure["drawn"] == true && visible, "{figure}");
        assert!(
            !figure["name"].as_str().unwrap().is_empty(),
            "a figure has a name for screen readers: {figure}"
        );
    }
    assert_eq!(found["dangling"], json!([]), "links that lead nowhere");
    assert_eq!(found["twice"], json!([]), "identifiers that are not unique");
    assert_eq!(
        found["open"],
        json!([]),
        "all checks hold, so they are collapsed"
    );
    fits(&found);
}

#[test]
#[ignore = "needs a browser; `cargo xtask test` runs it"]
fn the_check_detects_errors_in_a_page() {
    let browser = std::env::var("SUPERSTEP_TEST_BROWSER").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("broken.html");
    let broken = "<!DOCTYPE html><title>x</title><figure><img alt=\"a\" src=\"missing.png\"></figure>\
                  <table width=\"2000\"><tr><td>far</table><script>console.error('wrong')</script>";
    fs::write(&report, broken).unwrap();
    let page = folder.path().join("checker.html");
    fs::write(&page, checker(&report)).unwrap();
    let (document, console) = browse(&browser, folder.path(), &page);
    assert!(
        console.iter().any(|line| line.contains("wrong")),
        "{console:?}"
    );
    let found = finding(&document);
    assert_eq!(found["figures"][0]["drawn"], false, "{document}");
    assert_eq!(found["wide"], true, "{document}");
    assert_eq!(found["outside"], json!(["far"]), "{document}");
}

#[test]
#[ignore = "needs a browser; `cargo xtask test` runs it"]
fn long_names_and_large_numbers_do_not_widen_the_page() {
    let browser = std::env::var("SUPERSTEP_TEST_BROWSER").unwrap();
    let long =
        "very::long::namespace_of_a_kernel<std::integral_constant<unsigned, 1024>>".repeat(4);
    let huge = u64::MAX / 2;
    let kernel = KernelSummary {
        name: long.clone(),
        launches: huge,
        ctas: huge,
        loads: huge,
        stores: huge,
        atomics: huge,
        ..KernelSummary::default()
    };
    let check = Check {
        check: "output-equal".into(),
        ok: false,
        detail: long.replace(':', "_"),
        ..Check::default()
    };
    let benchmark = BenchmarkSummary {
        name: long.clone(),
        title: long,
        status: Status::Failed,
        launches: Some(huge),
        ctas: Some(huge),
        kernels: vec![kernel],
        verification: vec![check],
        ..BenchmarkSummary::default()
    };
    let run = RunSummary {
        benchmarks: vec![benchmark],
        ..RunSummary::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("index.html");
    fs::write(&report, page::index(&run, &[]).unwrap()).unwrap();
    let page = folder.path().join("checker.html");
    fs::write(&page, checker(&report)).unwrap();
    let (document, _) = browse(&browser, folder.path(), &page);
    let found = finding(&document);
    fits(&found);
    let summary = "Verification: 0 of 1 checks hold, 1 failed";
    assert_eq!(
        found["open"],
        json!([summary]),
        "a failure is not collapsed"
    );
}
