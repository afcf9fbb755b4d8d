//! Tests for `vectors`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn vectors_and_single_lanes_agree(
        base: u64, shift in 0u32..13, bits in 0u32..=64, width in 0u32..=64,
        distance in prop::array::uniform32(any::<u64>()),
    ) {
        let frame = Frame { base, shift, bits };
        let mask = crate::codec::bits::low_bits(width);
        let addresses = distance.map(|distance| base.wrapping_add(distance & mask));
        if Avx2::detect().is_some() {
            // SAFETY: `Avx2` proves that the processor has the feature.
            let whole = unsafe { Row::whole(frame, &addresses) };
            prop_assert_eq!(whole, Row::new(frame, &addresses));
        }
    }
}
