//! Offsets of 32 lanes, in vectors if the processor has AVX2.

use std::arch::x86_64::*;

use super::model::Frame;
use super::vectors::Row;
use super::vectors::reduce;
use crate::WARP_LANES;

/// Bound on offsets that are compared. Their differences, and the differences between those, fit in 32 bits.
const CLOSE_LIMIT: u32 = 1 << 29;

/// Representation of distance 0 in [`Vectors::spread`], which makes all distances positive.
pub(super) const MIDDLE: i32 = 1 << 30;

pub(super) type Numbers = [i32; WARP_LANES];

/// Distances of the active lanes from a base: signed `N`-byte little-endian integers, where `N` is 2 or 4.
#[derive(Clone, Copy, Debug)]
pub struct Offsets<'a, const N: usize>(pub &'a [[u8; N]]);

impl<const N: usize> Offsets<'_, N> {
    #[inline(always)]
    pub(super) fn number(self, index: usize) -> i32 {
        let mut number = [0; 4];
        number[4 - N..].copy_from_slice(&self.0[index]);
        i32::from_le_bytes(number) >> (8 * (4 - N))
    }

    /// Returns the first `lanes` offsets, then zeros.
    #[inline(always)]
    pub(super) fn numbers(self, lanes: usize) -> Numbers {
        let mut numbers = [0; WARP_LANES];
        for (index, number) in numbers[..lanes].iter_mut().enumerate() {
            *number = self.number(index);
        }
        numbers
    }

    #[inline]
    pub fn addresses(self, base: u64, lanes: usize) -> [u64; WARP_LANES] {
        let mut addresses = [0; WARP_LANES];
        for (index, address) in addresses[..lanes].iter_mut().enumerate() {
            *address = base.wrapping_add(self.number(index) as u64);
        }
        addresses
    }
}

/// Deviations of lanes from a common move.
pub(super) struct Deviations<L> {
    /// Mask of the lanes that deviate.
    pub strays: u32,
    /// Deviation of each lane in units of a frame, zigzag-encoded.
    pub units: L,
    /// Bitwise OR of `units`.
    pub any: u32,
    /// Whether any deviation is not a multiple of the unit, which makes `units` inexact.
    pub is_odd: bool,
}

/// A number for each lane.
pub(super) trait Lanes: Copy {
    /// Returns the first `lanes` offsets, then zeros.
    fn new<const N: usize>(offsets: Offsets<'_, N>, lanes: usize) -> Self;

    fn store(self, to: &mut Numbers);

    /// Returns whether all numbers are small enough to be compared.
    fn are_close(self) -> bool;

    /// Returns whether each lane *l* has the number `first + stride * l`. All must be close.
    fn is_run(self, first: i32, stride: i32) -> bool;

    /// Compares the first `lanes` numbers with `old` plus `moved`. All must be close.
    fn compare(self, old: &Numbers, lanes: usize, moved: i32, shift: u32) -> Deviations<Self>;
}

impl Lanes for Numbers {
    fn new<const N: usize>(offsets: Offsets<'_, N>, lanes: usize) -> Self {
        offsets.numbers(lanes)
    }

    fn store(self, to: &mut Numbers) {
        *to = self;
    }

    fn are_close(self) -> bool {
        let any = (self.iter()).fold(0, |any, &number| any | (number ^ number >> 31));
        (any as u32) < CLOSE_LIMIT
    }

    fn is_run(self, first: i32, stride: i32) -> bool {
        let mut at = first;
        self.iter().all(|&number| {
            let is_equal = number == at;
            at = at.wrapping_add(stride);
            is_equal
        })
    }

    fn compare(self, old: &Numbers, lanes: usize, moved: i32, shift: u32) -> Deviations<Self> {
        let (mut units, mut strays, mut odd) = ([0; WARP_LANES], 0, 0);
        for (lane, unit) in units[..lanes].iter_mut().enumerate() {
            let deviation = self[lane].wrapping_sub(old[lane]).wrapping_sub(moved);
            let shifted = deviation >> shift;
            *unit = shifted << 1 ^ shifted >> 31;
            strays |= u32::from(deviation != 0) << lane;
            odd |= deviation;
        }
        Deviations {
            strays,
            any: units.iter().fold(0, |any, &unit| any | unit as u32),
            units,
            is_odd: odd & ((1 << shift) - 1) != 0,
        }
    }
}

/// Eight lanes per vector. Exists only if the processor has AVX2.
#[derive(Clone, Copy)]
pub(super) struct Vectors([__m256i; 4]);

impl Lanes for Vectors {
    #[inline(always)]
    fn new<const N: usize>(offsets: Offsets<'_, N>, lanes: usize) -> Self {
        // SAFETY: callers use `Vectors` only if the processor has AVX2.
        unsafe { Self::new_avx2(offsets, lanes) }
    }

    #[inline(always)]
    fn store(self, to: &mut Numbers) {
        // SAFETY: `Vectors` exists only if the processor has AVX2.
        unsafe { self.store_avx2(to) }
    }

    #[inline(always)]
    fn are_close(self) -> bool {
        // SAFETY: `Vectors` exists only if the processor has AVX2.
        unsafe { self.are_close_avx2() }
    }

    #[inline(always)]
    fn is_run(self, first: i32, stride: i32) -> bool {
        // SAFETY: `Vectors` exists only if the processor has AVX2.
        unsafe { self.is_run_avx2(first, stride) }
    }

    #[inline(always)]
    fn compare(self, old: &Numbers, lanes: usize, moved: i32, shift: u32) -> Deviations<Self> {
        // SAFETY: `Vectors` exists only if the processor has AVX2.
        unsafe { self.compare_avx2(old, lanes, moved, shift) }
    }
}

impl Vectors {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new_avx2<const N: usize>(offsets: Offsets<'_, N>, lanes: usize) -> Self {
        match offsets.0.first_chunk() {
            Some(whole) if lanes == WARP_LANES => Self::new_full(whole),
            _ => Self::new_partial(offsets, lanes),
        }
    }

    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn new_partial<const N: usize>(offsets: Offsets<'_, N>, lanes: usize) -> Self {
        Self::load(&offsets.numbers(lanes))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn new_full<const N: usize>(offsets: &[[u8; N]; WARP_LANES]) -> Self {
        Vectors(std::array::from_fn(|index| {
            let eight: &[[u8; N]; 8] = &offsets.as_chunks().0[index];
            match N {
                // SAFETY: eight 2-byte numbers fill the vector, and they need not be aligned.
                2 => _mm256_cvtepi16_epi32(unsafe { _mm_loadu_si128(eight.as_ptr().cast()) }),
                // SAFETY: eight 4-byte numbers fill the vector, and they need not be aligned.
                4 => unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) },
                _ => unreachable!("offsets of {N} bytes"),
            }
        }))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(numbers: &Numbers) -> Self {
        Vectors(std::array::from_fn(|index| {
            let eight: &[i32; 8] = &numbers.as_chunks().0[index];
            // SAFETY: eight numbers fill the vector, and they need not be aligned.
            unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
        }))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_avx2(self, to: &mut Numbers) {
        for (eight, vector) in to.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            // SAFETY: eight numbers fill the vector, and they need not be aligned.
            unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), vector) };
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn are_close_avx2(self) -> bool {
        let any = (self.0).map(|eight| _mm256_xor_si256(eight, _mm256_srai_epi32::<31>(eight)));
        (reduce(any, |a, b| _mm256_or_si256(a, b)) as u32) < CLOSE_LIMIT
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn count() -> [__m256i; 4] {
        let first = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        std::array::from_fn(|index| _mm256_add_epi32(first, _mm256_set1_epi32(8 * index as i32)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn is_run_avx2(self, first: i32, stride: i32) -> bool {
        let (first, stride) = (_mm256_set1_epi32(first), _mm256_set1_epi32(stride));
        let expected =
            Self::count().map(|lane| _mm256_add_epi32(first, _mm256_mullo_epi32(lane, stride)));
        let differences: [__m256i; 4] =
            std::array::from_fn(|index| _mm256_xor_si256(self.0[index], expected[index]));
        reduce(differences, |a, b| _mm256_or_si256(a, b)) == 0
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn compare_avx2(self, old: &Numbers, lanes: usize, moved: i32, shift: u32) -> Deviations<Self> {
        let (old, moved) = (Self::load(old), _mm256_set1_epi32(moved));
        let (numbers, end) = (Self::count(), _mm256_set1_epi32(lanes as i32));
        let zero = _mm256_setzero_si256();
        let off: [__m256i; 4] = std::array::from_fn(|index| {
            let off = _mm256_sub_epi32(_mm256_sub_epi32(self.0[index], old.0[index]), moved);
            _mm256_and_si256(off, _mm256_cmpgt_epi32(end, numbers[index]))
        });
        let equal = off.map(|off| _mm256_cmpeq_epi32(off, zero));
        // Each half of the vector contains four bytes from each of the four vectors.
        let equal = _mm256_packs_epi16(
            _mm256_packs_epi32(equal[0], equal[1]),
            _mm256_packs_epi32(equal[2], equal[3]),
        );
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let equal = _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(equal, order));
        let odd = _mm256_or_si256(
            _mm256_or_si256(off[0], off[1]),
            _mm256_or_si256(off[2], off[3]),
        );
        let shift_by = _mm_cvtsi32_si128(shift as i32);
        let units = off.map(|off| {
            let shifted = _mm256_sra_epi32(off, shift_by);
            _mm256_xor_si256(
                _mm256_slli_epi32::<1>(shifted),
                _mm256_srai_epi32::<31>(shifted),
            )
        });
        Deviations {
            strays: !equal as u32,
            any: reduce(units, |a, b| _mm256_or_si256(a, b)) as u32,
            units: Vectors(units),
            is_odd: _mm256_testz_si256(odd, _mm256_set1_epi32((1 << shift) - 1)) == 0,
        }
    }

    /// Converts a whole warp's close offsets from `base` to coordinates in `frame`. Returns `None` if a lane is or
    /// might be outside the frame.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn row(self, frame: Frame, base: u64) -> Option<Row> {
        let distance = base.wrapping_sub(frame.base);
        let frame_bits = frame.bits + frame.shift;
        // With these limits, lanes below the frame or far above it have bit 31 set.
        if distance >> 31 != 0 || frame_bits > 31 {
            return None;
        }
        let distance = _mm256_set1_epi32(distance as i32);
        let distance = (self.0).map(|eight| _mm256_add_epi32(distance, eight));
        let any = reduce(distance, |a, b| _mm256_or_si256(a, b)) as u32;
        let outside = !(u32::MAX >> 1 >> (31 - frame_bits)) | ((1 << frame.shift) - 1);
        if any & outside != 0 {
            return None;
        }
        let shift = _mm_cvtsi32_si128(frame.shift as i32);
        let all = distance.map(|eight| _mm256_srl_epi32(eight, shift));
        Some(Row::from_coordinates(frame, any.into(), all))
    }

    /// Returns the distances of a whole warp's lanes from the first one, plus [`MIDDLE`], in units of `1 << shift`
    /// bytes; `None` if one is not a multiple of the unit. Differences are not reduced modulo the size of a frame.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn spread(self, shift: u32) -> Option<Row> {
        let first = _mm256_broadcastd_epi32(_mm256_castsi256_si128(self.0[0]));
        let distance = (self.0).map(|eight| _mm256_sub_epi32(eight, first));
        let any = reduce(distance, |a, b| _mm256_or_si256(a, b)) as u32;
        if any & ((1 << shift) - 1) != 0 {
            return None;
        }
        let (shift, middle) = (_mm_cvtsi32_si128(shift as i32), _mm256_set1_epi32(MIDDLE));
        let all = distance.map(|eight| _mm256_add_epi32(_mm256_sra_epi32(eight, shift), middle));
        let frame = Frame {
            bits: 32,
            ..Frame::default()
        };
        Some(Row::from_coordinates(frame, any.into(), all))
    }
}
