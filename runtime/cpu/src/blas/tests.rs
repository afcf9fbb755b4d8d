//! Tests of `blas`.

use super::*;

#[test]
fn enumerators_become_letters() {
    let of = |kind, number| letter(kind, number).map(char::from);
    assert_eq!(
        [0, 1, 2, 3].map(|n| of(b'o', n)),
        [Some('N'), Some('T'), Some('C'), None]
    );
    assert_eq!(
        (of(b'u', 0), of(b's', 1), of(b'd', 1)),
        (Some('L'), Some('R'), Some('U'))
    );
    assert_eq!(of(b'u', -1), None);
}
