//! Tests for `settings`.

use super::*;

#[test]
fn windows_round_trip_as_text() {
    for text in ["100-299", "4000-4199:0-63", "7-7"] {
        assert_eq!(CtaWindow::parse(text).unwrap().to_string(), text);
    }
    let one = CtaWindow::parse(" 5 : 2 - 3").unwrap();
    assert_eq!((one.sources, one.receivers), (5..=5, 2..=3));
}

#[test]
fn an_invalid_window_is_an_error_that_names_the_wrong_part() {
    for (text, why) in [
        ("", "`` is not a number"),
        ("9-3", "9-3 ends before it starts"),
        ("0-9:x", "`x` is not a number"),
        ("1..3", "`1..3` is not a number"),
        ("-4", "`` is not a number"),
        ("0-4294967296", "`4294967296` is not a number"),
    ] {
        let error = CtaWindow::parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(error.contains("as in 100-299"), "{error}");
    }
}
