//! Tests for `page`.

use crate::probes::Study;
use crate::probes::page::{MAX_ROWS, page};
use superstep_table::Table;

superstep_table::table! {
    /// A program.
    struct FewRow = "few" {
        program: String = "p";
        accesses: u64 ["access groups"] = "a";
        wall_s: f64 ["s"] = "w";
    }
}

superstep_table::table! {
    /// A program.
    struct ManyRow = "many" {
        program: String = "p";
    }
}

#[test]
fn page_has_its_tables_and_escapes_names() {
    let program = "<script>".to_owned();
    let few = FewRow {
        program: program.clone(),
        accesses: 3,
        wall_s: 0.5,
    };
    let study = Study {
        tables: vec![
            Table::of(&vec![few; 2]),
            Table::of(&vec![ManyRow { program }; 100]),
        ],
        ..Study::default()
    };
    let text = page("t", ("p", "<b>"), &["a & b".into()], &study).unwrap();
    assert!(
        !text.contains("<script>") && !text.contains("<b>"),
        "{text}"
    );
    assert!(text.contains("a &amp; b") && text.contains("accesses, access groups"));
    assert!(text.contains("<summary>many: 100 rows</summary>"), "{text}");
    assert!(
        text.contains("wall, s</th>") && !text.contains("SASSI"),
        "{text}"
    );
    assert_eq!(text.matches("&lt;script&gt;").count(), 2 + MAX_ROWS);
}
