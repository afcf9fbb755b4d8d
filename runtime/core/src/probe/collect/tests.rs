//! Tests for `collect`.

use super::*;
use superstep_trace::probe::{Combine, Word};

#[test]
fn a_row_of_threads_is_summarised() {
    let field = |combine| Field {
        name: "f".into(),
        word: Word::U32,
        combine,
    };
    assert_eq!(
        statistics(&field(Combine::Sum), [3u64, 0, 5].into_iter()),
        [8, 0, 5, 2]
    );
    let stored = |value: u32| u64::from(!value);
    assert_eq!(
        statistics(&field(Combine::Min), [stored(7), stored(4)].into_iter()),
        [4, 4, 7, 2]
    );
}
