//! Bins of the histograms (Rieber 2017, figures 6.3 and 6.5): each reaches from its number up to the next one.

/// Bins of degrees; the last one has no end.
pub const DEGREE_BINS: [u64; 12] = [1, 2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 10_000];

/// Bins of strides in bytes; the last one has no end.
pub const STRIDE_BINS: [u64; 13] = [
    1, 2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 10_000, 100_000,
];

/// Index of the bin of `value`: the last bin that does not begin above it. 0 has none.
pub fn bin(bins: &[u64], value: u64) -> Option<usize> {
    bins.partition_point(|&start| start <= value).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_reaches_up_to_the_next_one() {
        let index = |value| bin(&DEGREE_BINS, value);
        assert_eq!(index(0), None);
        assert_eq!((index(1), index(3), index(4)), (Some(0), Some(1), Some(2)));
        assert_eq!((index(9_999), index(10_000)), (Some(10), Some(11)));
        assert_eq!(index(u64::MAX), Some(11));
        assert_eq!(bin(&STRIDE_BINS, 100_000), Some(12));
    }
}
