//! Tests for `hash`.

use super::*;

#[test]
fn a_changed_file_has_a_different_hash() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a");
    fs::write(&file, "one").unwrap();
    let first = of_file(&file).unwrap();
    assert_eq!(first, crate::fetch::hash_bytes(b"one").to_string());
    fs::write(&file, "three").unwrap();
    assert_ne!(first, of_file(&file).unwrap());
}
