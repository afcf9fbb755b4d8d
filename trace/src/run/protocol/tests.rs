//! Tests for `protocol`.

use super::Protocol;

#[test]
fn names_match_those_in_files() {
    for protocol in Protocol::ALL {
        assert_eq!(protocol.name().parse(), Ok(protocol));
        let json = serde_json::to_string(&protocol).unwrap();
        assert_eq!(json, format!("\"{protocol}\""));
    }
    assert!("Stream".parse::<Protocol>().is_err());
}
