//! Checks that `docs/columns.csv` matches the declared columns. With `INSTA_UPDATE=always` (set by
//! `cargo xtask bless`), rewrites the file first.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use superstep_analysis::metrics::{Metrics, Settings};
use superstep_analysis::{Analysis, tables};
use superstep_export::tables::{TableName, in_memory};
use superstep_table::Table;
use superstep_trace::SiteTable;

fn csv(tables: &[Table]) -> String {
    let mut text = "table,column,unit,meaning\n".to_owned();
    for table in tables {
        let name = table.name();
        let _ = writeln!(text, "{name},,,{}", quoted(&row_of(table.meaning())));
        for column in table.columns() {
            let (unit, meaning) = (quoted(column.unit), quoted(column.meaning));
            let _ = writeln!(text, "{name},{},{unit},{meaning}", column.name);
        }
    }
    text
}

fn row_of(meaning: &str) -> String {
    let (first, rest) = meaning.split_at(1);
    format!("a row: {}{rest}", first.to_lowercase())
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[test]
fn every_column_is_documented() {
    let (analysis, settings) = (Analysis::default(), Settings::default());
    let mut all = tables::tables(&analysis, &SiteTable::default(), &settings).unwrap();
    all.extend(Metrics::default().tables());
    let folder = tempfile::tempdir().unwrap();
    let capture = common::worked_example(folder.path());
    all.extend(TableName::ALL.map(|name| in_memory(&capture, name).unwrap()));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/columns.csv");
    let expected = csv(&all);
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::write(&path, &expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap();
    assert_eq!(
        found, expected,
        "docs/columns.csv is out of date: run `cargo xtask bless`"
    );
}
