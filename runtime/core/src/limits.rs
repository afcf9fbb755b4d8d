//! Launch limits of all GPUs with compute capability 3.0 or later (CUDA C++ Programming Guide, "Compute Capabilities").

pub const MAX_THREADS: u32 = 1024;
pub const MAX_THREADS_BY_DIMENSION: [u32; 3] = [1024, 1024, 64];
pub const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];

/// Returns whether a grid and a CTA can have these extents. A launch with other extents fails with
/// `cudaErrorInvalidConfiguration`.
pub fn is_configuration(grid: [u32; 3], block: [u32; 3]) -> bool {
    let fits = |extent: [u32; 3], max: [u32; 3]| {
        (extent.iter().zip(max)).all(|(&n, max)| n >= 1 && n <= max)
    };
    let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
    fits(grid, MAX_GRID)
        && fits(block, MAX_THREADS_BY_DIMENSION)
        && threads <= u64::from(MAX_THREADS)
}

#[cfg(test)]
mod tests;
