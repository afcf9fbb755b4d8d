//! Tests for `blas`.

use super::*;

#[test]
fn enumerators_become_letters() {
    let letter_of = |kind, number| letter(kind, number).map(char::from);
    assert_eq!(
        [0, 1, 2, 3].map(|n| letter_of(b'o', n)),
        [Some('N'), Some('T'), Some('C'), None]
    );
    assert_eq!(
        (letter_of(b'u', 0), letter_of(b's', 1), letter_of(b'd', 1)),
        (Some('L'), Some('R'), Some('U'))
    );
    assert_eq!(letter_of(b'u', -1), None);
}
