//! Runs the query from docs/exports.md in DuckDB.

mod common;

use std::process::Command;

use common::worked_example;
use superstep_export::tables::{Format, TableName, write};

/// Runs `script` in a folder with the worked example's tables, using the packages that `cargo xtask test` installs.
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
    let output = Command::new("python3")
        .args(["-c", script])
        .current_dir(folder.path())
        .env("PYTHONPATH", packages)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn documented_query_runs_in_duckdb() {
    let page = include_str!("../../../docs/exports.md");
    let (_, rest) = page.split_once("```sql query\n").unwrap();
    let (query, _) = rest.split_once("\n```").unwrap();
    let script = format!(
        "import duckdb\nfor row in duckdb.sql(\"\"\"{query}\"\"\").fetchall(): print(*row)"
    );
    if let Some(out) = python(&script) {
        // File, line, kernel and communicated bytes.
        assert_eq!(out.trim_end(), "step.cu 7 read 20");
    }
}
