//! Tests for `linked`.

use super::*;

#[test]
fn flags_of_both_compilers_are_recognised() {
    let flags = |flag: &str| Flags {
        device: vec!["-O3".into(), flag.into()],
        ..Flags::default()
    };
    assert!(FLAGS.iter().all(|flag| is_requested(&flags(flag))));
    assert!(!is_requested(&flags("-rdc=false")));
    assert!(!is_requested(&Flags::default()));
}
