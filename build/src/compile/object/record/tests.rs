//! Device code records in executables.

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
    let (one, two) = (
        record("a.cu", &[b"BC1"]),
        record("b.cu", &[b"BC22", b"BC3"]),
    );
    let bytes = [one.encode(), vec![0; 5], two.encode(), vec![0]].concat();
    assert_eq!(decode(&bytes), Some(vec![one.clone(), two.clone()]));
    assert_eq!(
        two.units().collect::<Vec<_>>(),
        [b"BC22".as_slice(), b"BC3"]
    );
    assert_ne!(one.hash(), two.hash());
    let both = DeviceCodeRecord::linked("/f".into(), &[one, two]);
    assert_eq!(
        (both.head.name.as_str(), both.units().count()),
        ("a.cu + b.cu", 3)
    );
    assert_eq!(decode(&both.encode()), Some(vec![both]));
}

#[test]
fn truncated_and_foreign_records_are_errors() {
    let bytes = record("a.cu", &[b"BC1"]).encode();
    assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    assert_eq!(decode(b"something else entirely, long enough"), None);
    let mut lying = record("a.cu", &[b"BC1"]);
    lying.head.units = vec![usize::MAX, 4];
    assert_eq!(decode(&lying.encode()), None);
    assert_eq!(decode(&[]), Some(Vec::new()));
}
