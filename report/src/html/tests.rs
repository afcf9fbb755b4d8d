//! Tests of `html`.

use super::*;

#[test]
fn digits_in_groups() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(999), "999");
    assert_eq!(grouped(1000), "1,000");
    assert_eq!(
        grouped(18_446_744_073_709_551_615),
        "18,446,744,073,709,551,615"
    );
}

#[test]
fn what_comes_from_outside_is_escaped() {
    let mut out = String::new();
    let evil = "<script>alert('\"&')</script>";
    table(
        &mut out,
        evil,
        [[
            (evil, Cell::Text(evil.into())),
            (evil, Cell::Code(evil.into())),
            (
                evil,
                Cell::Link {
                    text: evil.into(),
                    id: evil.into(),
                },
            ),
        ]],
    );
    description_list(&mut out, &[("a", evil.into())]);
    assert!(!out.contains("<script"), "{out}");
    assert!(!out.contains("alert('"), "{out}");
}
