//! Tests for records of device code.

use super::*;

fn record(name: &str, units: &[&[u8]]) -> DeviceCodeRecord {
    DeviceCodeRecord {
        head: Head {
            name: name.into(),
            folder: "/f".into(),
            relocatable: false,
            units: units.iter().map(|unit| unit.len()).collect(),
        },
        bitcode: units.concat(),
    }
}

#[test]
fn joined_records_are_decoded() {
    let (first, second) = (
        record("a.cu", &[b"BC1"]),
        record("b.cu", &[b"BC22", b"BC3"]),
    );
    let bytes = [first.encode(), vec![0; 5], second.encode(), vec![0]].concat();
    assert_eq!(decode(&bytes), Some(vec![first.clone(), second.clone()]));
    assert_eq!(
        second.units().collect::<Vec<_>>(),
        [b"BC22".as_slice(), b"BC3"]
    );
    assert_ne!(first.hash(), second.hash());
    let linked = DeviceCodeRecord::linked("/f".into(), &[first, second]);
    assert_eq!(
        (linked.head.name.as_str(), linked.units().count()),
        ("a.cu + b.cu", 3)
    );
    assert_eq!(decode(&linked.encode()), Some(vec![linked]));
}

#[test]
fn truncated_and_invalid_records_are_errors() {
    let bytes = record("a.cu", &[b"BC1"]).encode();
    assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    assert_eq!(decode(b"something else entirely, long enough"), None);
    let mut invalid = record("a.cu", &[b"BC1"]);
    invalid.head.units = vec![usize::MAX, 4];
    assert_eq!(decode(&invalid.encode()), None);
    assert_eq!(decode(&[]), Some(Vec::new()));
}
