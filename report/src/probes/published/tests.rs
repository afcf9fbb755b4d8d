//! Tests of `published`.

use super::*;

#[test]
fn published_numbers_stand_beside_those_of_the_same_program() {
    let row = |program: &str, static_branches| BranchesRow {
        program: program.to_owned(),
        static_branches,
        dynamic_percent: 33.3,
        ..BranchesRow::default()
    };
    let summary = [row("nn", 1), row("srad_v2", 19)];
    let table = branches("rodinia", &summary).unwrap();
    assert_eq!(table.rows(), 1, "nn is not in table 1");
    let cell = |column| table.text(0, column).unwrap();
    assert_eq!(cell("program"), "srad_v2");
    assert_eq!(cell("static_branches"), "19");
    assert_eq!(cell("sassi_static_branches"), "19.0");
    assert_eq!(cell("dynamic_percent"), "33.3");
    assert_eq!(cell("sassi_dynamic_percent"), "21.3");
    assert_eq!(branches("thesis", &summary), None);
    assert_eq!(cost("rodinia", "values", "heartwall"), Some([103.3, 229.6]));
    assert_eq!(cost("thesis", "values", "bfs"), None);
}
