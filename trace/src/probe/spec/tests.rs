//! Tests for `spec`.

use super::*;

#[test]
fn fields_are_laid_out_as_in_c() {
    let field = |word| Field {
        name: "f".into(),
        word,
        combine: Combine::Sum,
    };
    let mut spec = ProbeSpec {
        name: "p".into(),
        title: String::new(),
        kernels: vec![],
        per: Per::Launch,
        fields_in: FieldsIn::Registers,
        fields: vec![field(Word::U32), field(Word::U64), field(Word::U32)],
        tables: vec![],
        parameters: vec![],
        points: vec![],
    };
    assert_eq!(spec.fields_bytes(), 24);
    spec.fields.truncate(1);
    assert_eq!(spec.fields_bytes(), 4);
}

#[test]
fn zero_is_neutral_for_stored_values() {
    for combine in [
        Combine::Sum,
        Combine::Min,
        Combine::Max,
        Combine::And,
        Combine::Or,
    ] {
        assert_eq!(combine.stored(0, 5), 5);
        assert_eq!(combine.stored(5, 0), 5);
    }
    let smaller = !Combine::Min.stored(!7, !3);
    assert_eq!(smaller, 3);
    assert_eq!(!Combine::And.stored(!0b110, !0b011), 0b010);
}
