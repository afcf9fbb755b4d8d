//! Tests for `properties`.

use super::*;

#[test]
fn attributes_agree_with_properties() {
    let properties = properties(0);
    assert_eq!(attribute(16), Some(properties.multiProcessorCount));
    assert_eq!(attribute(8), Some(properties.sharedMemPerBlock as c_int));
    assert_eq!((attribute(75), attribute(76)), (Some(9), Some(0)));
    assert_eq!((attribute(0), attribute(144)), (None, None));
    assert_eq!(attribute(95), Some(properties.cooperativeLaunch));
}
