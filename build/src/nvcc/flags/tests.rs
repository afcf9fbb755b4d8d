//! Tests for `flags`.

use super::*;

#[test]
fn flag_names_are_unique() {
    let mut names: Vec<&str> = flags().flat_map(|(names, ..)| names.split('/')).collect();
    names.sort_unstable();
    let total = names.len();
    names.dedup();
    assert_eq!(names.len(), total);
}

#[test]
fn values_can_directly_follow_one_letter_flags() {
    let value = |flag| look_up(flag).map(|(_, _, value)| value);
    for flag in ["t4", "t=4", "threads=4"] {
        assert_eq!(value(flag), Some(Some("4".into())), "{flag}");
    }
    assert_eq!(value("threads"), Some(None));
    assert_eq!(value("oapp"), Some(Some("app".into())));
    assert_eq!(value("odir=d"), Some(Some("d".into())));
    for unknown in ["threads4", "tidy", "march=native", "mavx2", "export", "c=1"] {
        assert_eq!(value(unknown), None, "{unknown}");
    }
}
