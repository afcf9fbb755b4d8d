//! Bins of the histograms (Rieber 2017, figures 6.3 and 6.5): each number is the inclusive lower bound of a bin that extends to the next number.

/// Bins of degrees; the last one is unbounded.
pub const DEGREE_BINS: [u64; 12] = [1, 2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 10_000];

/// Bins of strides in bytes; the last one is unbounded.
pub const STRIDE_BINS: [u64; 13] = [
    1, 2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 10_000, 100_000,
];

/// Returns the index of the last bin that starts at or below `value`; 0 is in no bin.
pub fn bin(bins: &[u64], value: u64) -> Option<usize> {
    bins.partition_point(|&start| start <= value).checked_sub(1)
}

#[cfg(test)]
mod tests;
