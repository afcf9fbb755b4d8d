//! Tests for `hash`.

use super::*;

#[test]
fn parts_and_lists_are_hashed_separately() {
    let key = |lists: &[&[&str]]| {
        let mut hasher = KeyHasher::new("step");
        for list in lists {
            hasher.list(*list);
        }
        hasher.finish()
    };
    assert_ne!(key(&[&["ab", "c"]]), key(&[&["a", "bc"]]));
    assert_ne!(key(&[&["a", "b"], &[]]), key(&[&["a"], &["b"]]));
    assert_eq!(key(&[&["ab", "c"]]), key(&[&["ab", "c"]]));
    assert_eq!(key(&[]).len(), 64);
}

#[test]
fn a_printed_digest_is_parsed() {
    let shown = hash_bytes(b"abc").to_string();
    assert!(shown.starts_with("ba7816bf8f01cfea"));
    assert_eq!(
        Sha256::parse(&shown.to_uppercase()),
        Some(hash_bytes(b"abc"))
    );
    assert_eq!(Sha256::parse(&shown[1..]), None);
}
