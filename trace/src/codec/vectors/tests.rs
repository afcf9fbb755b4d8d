//! Tests of `vectors`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn vectors_and_single_lanes_agree(
        base: u64, shift in 0u32..13, bits in 0u32..=64, width in 0u32..=64,
        far in prop::array::uniform32(any::<u64>()),
    ) {
        let frame = Frame { base, shift, bits };
        let low = crate::codec::bits::low_bits(width);
        let addresses = far.map(|far| base.wrapping_add(far & low));
        if let Some(avx2) = Avx2::detect() {
            let (whole, one) = (Row::whole(avx2, frame, &addresses), Row::new(frame, &addresses));
            prop_assert_eq!(whole, one);
        }
    }
}
