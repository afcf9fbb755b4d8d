//! Tests for `varint`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn round_trip(value: u64) {
        let mut buffer = Vec::new();
        append(&mut buffer, value);
        let end = buffer.len();
        buffer.push(0xff);
        let mut at = 0;
        prop_assert_eq!(get(&buffer, &mut at), Some(value));
        prop_assert_eq!(at, end);
        prop_assert_eq!(zigzag(unzigzag(value)), value);
        prop_assert_eq!(get(&buffer[..end - 1], &mut 0), None);
    }
}

#[test]
fn overlong_number_is_refused() {
    assert_eq!(get(&[0xff; 11], &mut 0), None);
    let mut bytes = [0xff; 10];
    bytes[9] = 1;
    assert_eq!(get(&bytes, &mut 0), Some(u64::MAX));
    bytes[9] = 2;
    assert_eq!(get(&bytes, &mut 0), None);
}
