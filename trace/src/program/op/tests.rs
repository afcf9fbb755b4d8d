//! Tests for `op`.

use super::Op;

#[test]
fn codes_and_names_agree() {
    for (index, op) in Op::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(op.code()), index + 1);
        assert_eq!(Op::from_code(op.code()), Some(op));
        assert_eq!(serde_json::to_string(&op).unwrap(), format!("\"{op}\""));
    }
    assert_eq!(Op::from_code(0), None);
    assert_eq!(Op::from_code(15), None);
}

#[test]
fn atomics_read_and_write() {
    assert!(Op::AtomicCas.reads() && Op::AtomicCas.writes());
    assert!(Op::Load.reads() && !Op::Load.writes());
    assert!(!Op::Store.reads() && Op::Store.writes());
}
