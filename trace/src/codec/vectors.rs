//! Operations on all lanes of a warp, eight at a time if the processor has AVX2.

use std::arch::x86_64::*;

use super::model::Frame;
use crate::WARP_LANES;

/// Proof that the processor has AVX2, BMI1, BMI2, LZCNT and POPCNT.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        use std::arch::is_x86_feature_detected as has;
        let all = has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
        all.then_some(Avx2(()))
    }

    /// Extracts the bits of `word` at the set bits of `mask`.
    #[inline(always)]
    pub(super) fn gather(self, word: u64, mask: u64) -> u64 {
        // SAFETY: the processor has BMI2.
        unsafe { _pext_u64(word, mask) }
    }
}

/// Packs two `width`-bit numbers into each 64-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
fn paired(numbers: &[u32; WARP_LANES], width: u32) -> [__m256i; 4] {
    let width = _mm_cvtsi32_si128(width as i32);
    std::array::from_fn(|index| {
        let eight: &[u32; 8] = &numbers.as_chunks().0[index];
        // SAFETY: eight numbers fill the vector, and they need not be aligned.
        let eight = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
        let first = _mm256_and_si256(eight, _mm256_set1_epi64x(0xffff_ffff));
        let second = _mm256_sll_epi64(_mm256_srli_epi64::<32>(eight), width);
        _mm256_or_si256(first, second)
    })
}

/// Packs `width`-bit numbers (at most 32 bits), two per word.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn pairs(numbers: &[u32; WARP_LANES], width: u32) -> [u64; 16] {
    let mut pairs = [0; 16];
    let vectors = paired(numbers, width);
    for (four, vector) in pairs.as_chunks_mut::<4>().0.iter_mut().zip(vectors) {
        // SAFETY: four numbers fill the vector, and they need not be aligned.
        unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), vector) };
    }
    pairs
}

/// Packs `width`-bit numbers (at most 16 bits), four per word.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fours(numbers: &[u32; WARP_LANES], width: u32) -> [u64; 8] {
    let mut fours = [0; 8];
    let pairs = paired(numbers, width);
    let width = _mm_cvtsi32_si128(2 * width as i32);
    for (four, &[low, high]) in fours
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(pairs.as_chunks::<2>().0)
    {
        // Pairs 0, 4, 2 and 6, and their successors.
        let first = _mm256_unpacklo_epi64(low, high);
        let second = _mm256_unpackhi_epi64(low, high);
        let all = _mm256_or_si256(first, _mm256_sll_epi64(second, width));
        let all = _mm256_permute4x64_epi64::<0b11_01_10_00>(all);
        // SAFETY: four numbers fill the vector, and they need not be aligned.
        unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), all) };
    }
    fours
}

/// Packs numbers of at most 8 bits, one per byte.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bytes(numbers: &[u32; WARP_LANES]) -> [u64; 4] {
    let eight = |index: usize| {
        let eight: &[u32; 8] = &numbers.as_chunks().0[index];
        // SAFETY: eight numbers fill the vector, and they need not be aligned.
        unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
    };
    let halves = [
        _mm256_packus_epi32(eight(0), eight(1)),
        _mm256_packus_epi32(eight(2), eight(3)),
    ];
    // Each half of the vector contains four bytes from each of the four vectors.
    let mixed = _mm256_packus_epi16(halves[0], halves[1]);
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    let bytes = _mm256_permutevar8x32_epi32(mixed, order);
    [
        _mm256_extract_epi64::<0>(bytes) as u64,
        _mm256_extract_epi64::<1>(bytes) as u64,
        _mm256_extract_epi64::<2>(bytes) as u64,
        _mm256_extract_epi64::<3>(bytes) as u64,
    ]
}

/// Addresses of up to 32 lanes as coordinates in a frame; the other lanes are 0. If a coordinate needs more than 32
/// bits, only `any` is valid.
#[cfg_attr(test, derive(PartialEq, Debug))]
pub(super) struct Row {
    /// Bitwise OR of the distances from the frame's base in bytes.
    pub any: u64,
    pub all: [u32; WARP_LANES],
    pub low: u32,
    pub high: u32,
    /// Distance of the second lane from the first.
    pub first: u32,
    /// Distance from each lane to the next, modulo the size of the frame, minus `first`.
    pub rest: [u32; WARP_LANES],
    /// Minimum of `rest` and 0.
    pub min_rest: i32,
    /// Maximum of `rest` and 0.
    pub max_rest: i32,
}

impl Row {
    #[inline(always)]
    pub(super) fn new(frame: Frame, addresses: &[u64]) -> Self {
        let (mut all, mut any) = ([0u32; WARP_LANES], 0);
        for (coordinate, &address) in all.iter_mut().zip(addresses) {
            let distance = address.wrapping_sub(frame.base);
            any |= distance;
            *coordinate = (distance >> frame.shift) as u32;
        }
        let active = &all[..addresses.len()];
        let low = active.iter().fold(u32::MAX, |low, &c| low.min(c));
        let high = active.iter().fold(0, |high, &c| high.max(c));
        let unused = 32 - frame.bits.clamp(1, 32);
        let mut rest = [0u32; WARP_LANES];
        let first = active.get(1).map_or(0, |c| c.wrapping_sub(active[0]));
        let (mut min_rest, mut max_rest) = (0, 0);
        for (difference, pair) in rest.iter_mut().zip(active.windows(2)) {
            let distance = pair[1].wrapping_sub(pair[0]).wrapping_sub(first);
            let distance = (distance << unused) as i32 >> unused;
            (min_rest, max_rest) = (distance.min(min_rest), distance.max(max_rest));
            *difference = distance as u32;
        }
        Row {
            any,
            all,
            low,
            high,
            first,
            rest,
            min_rest,
            max_rest,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn whole(frame: Frame, addresses: &[u64; WARP_LANES]) -> Self {
        let base = _mm256_set1_epi64x(frame.base as i64);
        let shift = _mm_cvtsi32_si128(frame.shift as i32);
        let mut any = _mm256_setzero_si256();
        let mut load = |index: usize| {
            let four: &[u64; 4] = &addresses.as_chunks().0[index];
            // SAFETY: four numbers fill the vector, and they need not be aligned.
            let four = unsafe { _mm256_loadu_si256(four.as_ptr().cast()) };
            let distance = _mm256_sub_epi64(four, base);
            any = _mm256_or_si256(any, distance);
            _mm256_castsi256_ps(_mm256_srl_epi64(distance, shift))
        };
        let all: [__m256i; 4] = std::array::from_fn(|index| {
            // Take the lower half of each 64-bit number (lanes 0, 1, 4, 5, 2, 3, 6 and 7), then reorder them.
            let halves = _mm256_shuffle_ps::<0b10_00_10_00>(load(2 * index), load(2 * index + 1));
            _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(halves))
        });
        let any = _mm256_or_si256(any, _mm256_permute4x64_epi64::<0b01_00_11_10>(any));
        let any = _mm256_extract_epi64::<0>(any) | _mm256_extract_epi64::<1>(any);
        Self::from_coordinates(frame, any as u64, all)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn from_coordinates(frame: Frame, any: u64, all: [__m256i; 4]) -> Self {
        // Each lane's successor; for the last lane of a vector, the first lane of the next vector.
        let rotation = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
        let rotated = all.map(|eight| _mm256_permutevar8x32_epi32(eight, rotation));
        let first = _mm256_cvtsi256_si32(rotated[0]).wrapping_sub(_mm256_cvtsi256_si32(all[0]));
        let unused = _mm_cvtsi32_si128(32 - frame.bits.clamp(1, 32) as i32);
        let zero = _mm256_setzero_si256();
        let rest: [__m256i; 4] = std::array::from_fn(|index| {
            let following = rotated.get(index + 1).copied().unwrap_or(zero);
            let next = _mm256_blend_epi32::<0b1000_0000>(rotated[index], following);
            let distance =
                _mm256_sub_epi32(_mm256_sub_epi32(next, all[index]), _mm256_set1_epi32(first));
            let distance = _mm256_sra_epi32(_mm256_sll_epi32(distance, unused), unused);
            match index {
                // The last lane has no successor.
                3 => _mm256_blend_epi32::<0b1000_0000>(distance, zero),
                _ => distance,
            }
        });
        Row {
            any,
            low: reduce(all, |a, b| _mm256_min_epu32(a, b)) as u32,
            high: reduce(all, |a, b| _mm256_max_epu32(a, b)) as u32,
            first: first as u32,
            // This includes the 0 of the last lane.
            min_rest: reduce(rest, |a, b| _mm256_min_epi32(a, b)),
            max_rest: reduce(rest, |a, b| _mm256_max_epi32(a, b)),
            all: numbers(all),
            rest: numbers(rest),
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn reduce([a, b, c, d]: [__m256i; 4], op: impl Fn(__m256i, __m256i) -> __m256i) -> i32 {
    let eight = op(op(a, b), op(c, d));
    let four = op(eight, _mm256_permute4x64_epi64::<0b01_00_11_10>(eight));
    let two = op(four, _mm256_shuffle_epi32::<0b01_00_11_10>(four));
    _mm256_cvtsi256_si32(op(two, _mm256_shuffle_epi32::<0b10_11_00_01>(two)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn numbers(vectors: [__m256i; 4]) -> [u32; WARP_LANES] {
    let mut numbers = [0u32; WARP_LANES];
    for (eight, vector) in numbers.as_chunks_mut::<8>().0.iter_mut().zip(vectors) {
        // SAFETY: eight numbers fill the vector, and they need not be aligned.
        unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), vector) };
    }
    numbers
}

#[cfg(test)]
mod tests;
