//! Checks in a headless browser that the report logs nothing, shows every figure and does not scroll sideways.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{DOUBLE, run, superstep, write_suite};
use serde_json::{Value, json};
use superstep_analysis::run_summary::{
    BenchmarkSummary, Check, CommunicationSummary, KernelSummary, RunSummary, Status,
};
use superstep_report::page;

/// Returns a page that opens the report in a frame of width `width` and records what `script` returns for its document.
fn framed(report: &Path, width: u32, script: &str) -> String {
    format!(
        r##"<!DOCTYPE html><html style="color-scheme: light dark"><body><iframe id="page" width="{width}" height="2000" src="file://{}"></iframe><pre id="result">nothing</pre>
<script>
document.getElementById('page').addEventListener('load', () => {{
  const page = document.getElementById('page').contentDocument;
  const result = {script};
  document.getElementById('result').textContent = JSON.stringify(result(page));
}});
</script></body></html>"##,
        report.display()
    )
}

/// Returns a page that opens the report in a frame, expands everything, and records the appearance of each figure.
fn checker(report: &Path) -> String {
    let script = r##"page => {
  const open = Array.from(page.querySelectorAll('details[open] > summary'), summary => summary.textContent);
  page.querySelectorAll('details').forEach(part => part.open = true);
  const figures = Array.from(page.querySelectorAll('figure:has(svg, img)'), figure => {
    const drawing = figure.querySelector('svg, img');
    if (!drawing) return { drawn: false };
    const box = drawing.getBoundingClientRect();
    const drawn = drawing.tagName !== 'IMG' || (drawing.complete && drawing.naturalWidth > 0);
    const name = drawing.getAttribute('alt') || drawing.getAttribute('aria-label') || '';
    return { drawn, width: box.width, height: box.height, name };
  });
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
  return { title: page.title, figures, dangling, twice, wide, outside, open };
}"##;
    framed(report, 1280, script)
}

/// Opens `page` and returns the resulting document and the console output.
fn browse(browser: &str, folder: &Path, page: &Path) -> (String, Vec<String>) {
    browse_with(browser, folder, page, &[])
}

fn browse_with(
    browser: &str,
    folder: &Path,
    page: &Path,
    settings: &[&str],
) -> (String, Vec<String>) {
    let output = Command::new(browser)
        .args(settings)
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

/// Checks that the page does not scroll sideways and that no table is wider than the page, at a width of 1280 pixels.
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
    let run = report.parent().unwrap();
    assert!(run.join("benchmarks/toy/sources/toy.cu").is_file());
    let page = folder.path().join("checker.html");
    fs::write(&page, checker(&report)).unwrap();

    let (document, console) = browse(&browser, folder.path(), &page);
    assert!(console.is_empty(), "{console:#?}");
    let found = finding(&document);
    assert!(found["title"].as_str().unwrap().contains("toys"), "{found}");
    // Figure 6.1 and the figures of the only program.
    let figures = found["figures"].as_array().unwrap();
    assert!(figures.len() >= 9, "{} figures: {found}", figures.len());
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
        "all checks passed, so they are collapsed"
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
    fs::write(&report, page::page(&run, &[], Path::new("none")).unwrap()).unwrap();
    let page = folder.path().join("checker.html");
    fs::write(&page, checker(&report)).unwrap();
    let (document, _) = browse(&browser, folder.path(), &page);
    let found = finding(&document);
    fits(&found);
    let summary = "Verification: 0 of 1 checks passed, 1 failed";
    assert_eq!(
        found["open"],
        json!([summary]),
        "a failure is not collapsed"
    );
}

/// Script that describes the first screen, sorts the programs by their communicated share, and then filters them.
const FIRST_SCREEN: &str = r##"page => {
  const style = element => page.defaultView.getComputedStyle(element);
  const [body, nav, table] = ['body', 'nav', '.findings table'].map(part => page.querySelector(part));
  const rows = () => Array.from(table.tBodies[0].rows).filter(row => !row.hidden).map(row => row.cells[0].textContent);
  const found = { background: style(body).backgroundColor, nav: style(nav).position, amber: style(page.querySelector('p.warning')).color,
    bottom: table.getBoundingClientRect().bottom, wide: page.documentElement.scrollWidth > page.documentElement.clientWidth };
  const heading = Array.from(table.tHead.rows[0].cells).find(cell => cell.textContent === 'Communicated');
  const orders = [rows()];
  for (let times = 0; times < 2; times++) {
    heading.querySelector('button').click();
    orders.push([heading.ariaSort, rows().slice(0, 3)]);
  }
  const filter = page.querySelector('input[type=search]');
  filter.value = 'P7';
  filter.dispatchEvent(new Event('input'));
  return { ...found, orders, filtered: rows() };
}"##;

#[test]
#[ignore = "needs a browser; `cargo xtask test` runs it"]
fn the_first_screen_has_a_dark_mode_and_its_programs_can_be_sorted() {
    let browser = std::env::var("SUPERSTEP_TEST_BROWSER").unwrap();
    let warning = Check {
        check: "initialised-reads".into(),
        ok: true,
        detail: "kernel f reads 8 bytes of a that nothing has written".into(),
        warning: true,
        ..Check::default()
    };
    let benchmark = |number: u64| BenchmarkSummary {
        name: format!("p{number}"),
        title: format!("Program {number}"),
        status: Status::Passed,
        // 9.9 % is less than 10.8 %, although its first digit is larger.
        communication: Some(CommunicationSummary::new(1000, 72 + 9 * number)),
        verification: vec![warning.clone(); usize::from(number == 0)],
        ..BenchmarkSummary::default()
    };
    let run = RunSummary {
        benchmarks: (0..10).map(benchmark).collect(),
        ..RunSummary::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("index.html");
    fs::write(&report, page::page(&run, &[], Path::new("none")).unwrap()).unwrap();
    let page = folder.path().join("checker.html");
    for (scheme, width, background) in [
        ("preferredColorScheme=1", 1280, "rgb(255, 255, 255)"),
        ("preferredColorScheme=0", 420, "rgb(21, 24, 27)"),
    ] {
        fs::write(&page, framed(&report, width, FIRST_SCREEN)).unwrap();
        let setting = format!("--blink-settings={scheme}");
        let (document, console) = browse_with(&browser, folder.path(), &page, &[&setting]);
        assert!(console.is_empty(), "{console:#?}");
        let found = finding(&document);
        assert_eq!(found["background"], background, "{found}");
        assert_eq!(found["nav"], "sticky", "{found}");
        let amber = [json!("rgb(138, 83, 0)"), json!("rgb(240, 176, 74)")];
        assert!(amber.contains(&found["amber"]), "{found}");
        let limit = if width > 1000 { 900.0 } else { 2500.0 };
        assert!(found["bottom"].as_f64() < Some(limit), "{found}");
        assert_eq!(found["wide"], false, "{found}");
        let orders = &found["orders"];
        assert_eq!(
            orders[1],
            json!(["descending", ["p9", "p8", "p7"]]),
            "{found}"
        );
        assert_eq!(
            orders[2],
            json!(["ascending", ["p0", "p1", "p2"]]),
            "{found}"
        );
        assert_eq!(found["filtered"], json!(["p7"]), "{found}");
    }
}
