//! Tests for `nearest`.

use super::did_you_mean;

#[test]
fn only_a_similar_name_is_suggested() {
    let known = ["thesis", "rodinia", "features"];
    assert_eq!(did_you_mean("thesys", known), " (did you mean `thesis`?)");
    assert_eq!(did_you_mean("rodina", known), " (did you mean `rodinia`?)");
    assert_eq!(did_you_mean("mine", known), "");
}
