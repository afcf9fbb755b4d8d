//! Runs the queries from docs/exports.md in DuckDB and Polars.

mod common;

use std::path::Path;
use std::process::Command;

use common::worked_example;
use superstep_export::tables::{Format, TableName, write};

/// Returns the code block in docs/exports.md that begins with the line `fence`.
fn block(fence: &str) -> String {
    let page = include_str!("../../../docs/exports.md");
    let (_, rest) = page
        .split_once(&format!("{fence}\n"))
        .expect("the page has the block");
    rest.split_once("\n```")
        .expect("the block ends")
        .0
        .to_owned()
}

/// Runs Python in a folder with the worked example's tables, with the packages that `cargo xtask test` installs.
fn python(script: &str) -> Option<String> {
    let Some(packages) = std::env::var_os("SUPERSTEP_TEST_PYTHONPATH") else {
        eprintln!("skipped: SUPERSTEP_TEST_PYTHONPATH is not set; run `cargo xtask test`");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(&folder.path().join("capture"));
    for table in TableName::ALL {
        write(&capture, table, Format::Parquet, folder.path()).unwrap();
    }
    Some(run(script, folder.path(), Path::new(&packages)))
}

fn run(script: &str, folder: &Path, packages: &Path) -> String {
    let output = Command::new("python3")
        .args(["-c", script])
        .current_dir(folder)
        .env("PYTHONPATH", packages)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The query's result for the worked example: file, line, kernel and communicated bytes.
const EXPECTED: &str = "step.cu 7 read 20";

#[test]
fn documented_query_runs_in_duckdb() {
    let query = block("```sql query");
    let script = format!(
        "import duckdb\nfor row in duckdb.sql(\"\"\"{query}\"\"\").fetchall(): print(*row)"
    );
    if let Some(out) = python(&script) {
        assert_eq!(out.trim_end(), EXPECTED);
    }
}

#[test]
fn documented_query_runs_in_polars() {
    let query = block("```python query");
    let script = format!(
        "{query}\nfor row in result.select('file', 'line', 'kernel', 'bytes').iter_rows(): print(*row)"
    );
    if let Some(out) = python(&script) {
        assert_eq!(out.trim_end(), EXPECTED);
    }
}
