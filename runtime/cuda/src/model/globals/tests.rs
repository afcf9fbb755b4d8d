//! Tests for `globals`.

use super::*;

#[test]
fn rows_are_matched_with_names() {
    let mut table = Vec::new();
    for word in [0x7f00u64, 24, 0x7f20, 0, 0x7f40, 8] {
        table.extend_from_slice(&word.to_le_bytes());
    }
    let global = |name: &str, address, bytes| Global {
        name: name.to_owned(),
        address,
        bytes,
    };
    let parsed = parse(&table, b"_ZTV6Square\0empty\0.str\0");
    assert_eq!(
        parsed.variables,
        [global("_ZTV6Square", 0x7f00, 24), global(".str", 0x7f40, 8)]
    );
    assert!(parsed.allocating.is_empty());
    let allocating = parse(&table, b"a\0device malloc heap of _Z4growv\0b\0").allocating;
    assert_eq!(allocating, ["_Z4growv"]);
    assert_eq!(parse(&table[..20], b"").variables.len(), 1);
}
