//! Tests for `html`.

use super::*;

#[test]
fn digits_are_grouped() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1000), "1,000");
    assert_eq!(
        grouped(18_446_744_073_709_551_615),
        "18,446,744,073,709,551,615"
    );
}

#[test]
fn text_in_cells_captions_and_attributes_is_escaped() {
    let evil = "\"><script>alert('&')</script>";
    let cells = [
        Cell::Text(evil.into()),
        Cell::Code(evil.into()),
        Cell::Markup(link(evil, evil)),
    ];
    let table = table(evil, [cells.map(|cell| (evil, cell))]);
    for out in [table, description_list(&[("a", evil)])] {
        let out = out.into_string();
        assert!(!out.contains("<script") && !out.contains("'&'"), "{out}");
        assert!(!out.contains("\">&lt;script"), "{out}");
    }
}
