//! Tests for `output`.

use super::copy;

#[test]
fn long_output_keeps_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let open = || std::fs::File::create(&path).unwrap();
    assert!(!copy(&b"12345"[..], open(), 5).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), b"12345");
    assert!(copy(&b"12345"[..], open(), 4).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), b"1234");
}
