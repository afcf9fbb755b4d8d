//! Tests for `value`.

use super::*;

#[test]
fn valid_sizes_are_parsed_and_others_refused() {
    let bytes = |text: &str| text.parse::<ByteSize>().map(|size| size.bytes);
    assert_eq!(bytes("2GB"), Ok(2_000_000_000));
    assert_eq!(bytes("1.5 mib"), Ok(3 << 19));
    assert_eq!(bytes("17"), Ok(17));
    for text in ["", "GB", "2 parsecs", "-1", "0", "1e30", "9999999TB"] {
        let error = bytes(text).unwrap_err().to_string();
        assert!(error.contains("like 2GB"), "{text}");
    }
}

#[test]
fn a_bandwidth_is_a_number_above_zero() {
    assert_eq!(bandwidth("25.6"), Ok(25.6));
    for text in ["0", "-1", "inf", "nan", "fast", ""] {
        assert!(bandwidth(text).is_err(), "{text}");
    }
}
