//! Inclusive lower bounds of the histogram bins in Rieber 2017, figures 6.3 and 6.5; each bin extends to the next.

/// Bins for degrees; the last one is unbounded.
pub const DEGREE_BINS: [u64; 12] = [1, 2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 10_000];

/// Bins for strides, in bytes; the last one is unbounded.
pub const STRIDE_BINS: [u64; 13] = [
    1, 2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 10_000, 100_000,
];

/// Returns the index of the last bin that starts at or below `value`; `None` for 0.
pub fn bin(bins: &[u64], value: u64) -> Option<usize> {
    bins.partition_point(|&start| start <= value).checked_sub(1)
}

#[cfg(test)]
mod tests;
