//! Tests of `linked`.

use super::*;

#[test]
fn both_compilers_words_are_understood() {
    let flags = |flag: &str| Flags {
        device: vec!["-O3".into(), flag.into()],
        ..Flags::default()
    };
    assert!(FLAGS.iter().all(|flag| asked(&flags(flag))));
    assert!(!asked(&flags("-rdc=false")));
    assert!(!asked(&Flags::default()));
}
