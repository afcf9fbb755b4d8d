//! Tests for `arguments`.

use super::*;

fn parameter(bytes: u32) -> Parameter {
    Parameter {
        bytes,
        offset_bytes: 0,
    }
}

#[test]
fn arguments_are_copied() {
    let (mut a, mut b) = ([1u64, 2, 3], 4u8);
    let from = [(&raw const a).cast(), (&raw const b).cast::<c_void>()];
    let owned = OwnedArguments::new(&[parameter(24), parameter(1)], |index| from[index]);
    (a, b) = ([0; 3], 0);
    // SAFETY: both pointers point to values of the parameters' sizes.
    let (first, second) = unsafe {
        let places = owned.pointers();
        (
            *(*places).cast::<[u64; 3]>(),
            *(*places.add(1)).cast::<u8>(),
        )
    };
    assert_eq!((first, second, a, b), ([1, 2, 3], 4, [0; 3], 0));
}
