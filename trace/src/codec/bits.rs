//! Reads and writes packed integers of any bit width, lowest bit first.

use super::vectors::{self, Avx2};
use crate::WARP_LANES;

#[inline(always)]
pub(super) const fn low_bits(width: u32) -> u64 {
    match width {
        0 => 0,
        _ => u64::MAX >> (64 - width),
    }
}

#[inline(always)]
pub(super) const fn length(value: u64) -> u32 {
    64 - value.leading_zeros()
}

#[derive(Default)]
pub(super) struct BitWriter {
    /// Full words, and room for the words of the next row.
    words: Vec<u64>,
    full: usize,
    last: Partial,
}

/// Bits that do not yet fill a word: the lowest `used` bits of `word`, fewer than 64. The remaining bits are 0.
#[derive(Clone, Copy, Default)]
struct Partial {
    word: u64,
    used: u32,
}

impl Partial {
    /// Appends `width` bits, at most 64. Returns the word, and whether it is full. Avoids an unpredictable branch.
    #[inline(always)]
    fn put(&mut self, value: u64, width: u32) -> (u64, bool) {
        let word = self.word | value << self.used;
        let used = self.used + width;
        let is_full = used >= 64;
        // Two shifts, because a single shift by 64 would overflow if `used` is 0.
        let rest = value >> 1 >> (63 - self.used);
        *self = Partial {
            word: if is_full { rest } else { word },
            used: used % 64,
        };
        (word, is_full)
    }
}

struct Row<'a> {
    words: &'a mut [u64; WARP_LANES],
    full: usize,
    last: Partial,
}

impl Row<'_> {
    #[inline(always)]
    fn put(&mut self, value: u64, width: u32) {
        let (word, is_full) = self.last.put(value, width);
        self.words[self.full % WARP_LANES] = word;
        self.full += usize::from(is_full);
    }
}

impl BitWriter {
    pub(super) fn clear(&mut self) {
        (self.full, self.last) = (0, Partial::default());
    }

    /// Returns the number of bytes in full words.
    pub(super) fn len(&self) -> usize {
        self.full * 8
    }

    /// Appends all bits to `out`, padded with zeros to a whole byte.
    pub(super) fn copy_into(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.len(), 0);
        let (words, _) = out[start..].as_chunks_mut::<8>();
        for (bytes, word) in words.iter_mut().zip(&self.words) {
            *bytes = word.to_le_bytes();
        }
        let rest = self.last.used.div_ceil(8) as usize;
        out.extend_from_slice(&self.last.word.to_le_bytes()[..rest]);
    }

    /// Writes `value`, which must fit in `width` bits, at most 64.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(value & !low_bits(width) == 0);
        let (mut row, full) = self.row();
        row.put(value, width);
        let (more, last) = (row.full, row.last);
        (self.full, self.last) = (full + more, last);
    }

    #[inline(always)]
    pub(super) fn put_all<T: Copy + Into<u64>>(&mut self, values: &[T], width: u32) {
        debug_assert!(values.len() <= WARP_LANES);
        let (mut row, full) = self.row();
        // Join values before `put`, because each `put` depends on the previous one.
        let rest = match width {
            0 => &[],
            1..=16 => {
                let (fours, rest) = values.as_chunks::<4>();
                for four in fours {
                    let [a, b, c, d] = four.map(Into::into);
                    let (low, high) = (a | b << width, c | d << width);
                    row.put(low | high << (2 * width), 4 * width);
                }
                rest
            }
            17..=32 => {
                let (pairs, rest) = values.as_chunks::<2>();
                for pair in pairs {
                    let [a, b] = pair.map(Into::into);
                    row.put(a | b << width, 2 * width);
                }
                rest
            }
            _ => values,
        };
        for &value in rest {
            row.put(value.into(), width);
        }
        let (more, last) = (row.full, row.last);
        (self.full, self.last) = (full + more, last);
    }

    /// Writes the first `lanes` of `values` with `width` bits each, at most 32. The others must be 0.
    #[inline(always)]
    pub(super) fn put_row(
        &mut self,
        avx2: Option<Avx2>,
        values: &[u32; WARP_LANES],
        lanes: usize,
        width: u32,
    ) {
        let Some(avx2) = avx2 else {
            return self.put_all(&values[..lanes], width);
        };
        debug_assert!(width <= 32 && values[lanes..].iter().all(|&value| value == 0));
        let (mut row, full) = self.row();
        // The last packed word may contain fewer values.
        let mut left = lanes as u32 * width;
        let low = low_bits(width);
        match width {
            0 => {}
            1..=8 => {
                // SAFETY: `avx2` proves that the processor has the feature.
                for eight in unsafe { vectors::bytes(values) } {
                    let bits = left.min(8 * width);
                    row.put(avx2.gather(eight, low * 0x0101_0101_0101_0101), bits);
                    left -= bits;
                }
            }
            9..=16 => {
                // SAFETY: `avx2` proves that the processor has the feature.
                for four in unsafe { vectors::fours(values, width) } {
                    let bits = left.min(4 * width);
                    row.put(four, bits);
                    left -= bits;
                }
            }
            _ => {
                // SAFETY: `avx2` proves that the processor has the feature.
                for pair in unsafe { vectors::pairs(values, width) } {
                    let bits = left.min(2 * width);
                    row.put(pair, bits);
                    left -= bits;
                }
            }
        }
        let (more, last) = (row.full, row.last);
        (self.full, self.last) = (full + more, last);
    }

    /// Returns room for the next row, and the number of full words before it.
    #[inline(always)]
    fn row(&mut self) -> (Row<'_>, usize) {
        if self.words.len() < self.full + WARP_LANES {
            self.grow();
        }
        let words = self.words[self.full..].first_chunk_mut();
        let words = words.expect("there is room for a row");
        let row = Row {
            words,
            full: 0,
            last: self.last,
        };
        (row, self.full)
    }

    #[cold]
    fn grow(&mut self) {
        self.words.resize(2 * self.words.len() + WARP_LANES, 0);
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct BitReader {
    at: usize,
}

impl BitReader {
    /// Returns whether only the padding of the last byte is left.
    pub(super) fn is_at_end(self, bytes: &[u8]) -> bool {
        self.at.div_ceil(8) == bytes.len()
    }

    /// Reads an integer of at most 64 bits; returns `None` past the end of the bytes.
    #[inline]
    pub(super) fn get(&mut self, bytes: &[u8], width: u32) -> Option<u64> {
        let (byte, shift) = (self.at / 8, self.at as u32 % 8);
        let end = self.at.checked_add(width as usize)?;
        if end > bytes.len().checked_mul(8)? {
            return None;
        }
        self.at = end;
        let mut word = [0; 16];
        let rest = &bytes[byte..bytes.len().min(byte + 9)];
        word[..rest.len()].copy_from_slice(rest);
        Some((u128::from_le_bytes(word) >> shift) as u64 & low_bits(width))
    }

    /// Fills `out` with integers of at most 64 bits.
    #[inline]
    pub(super) fn get_all(&mut self, bytes: &[u8], width: u32, out: &mut [u64]) -> Option<()> {
        let end = self.at.checked_add(out.len() * width as usize)?;
        if width > 57 || end / 8 + 8 > bytes.len() {
            for value in out {
                *value = self.get(bytes, width)?;
            }
            return Some(());
        }
        let (mask, mut at) = (low_bits(width), self.at % 8);
        let bytes = &bytes[self.at / 8..];
        for value in out {
            let word = bytes[at / 8..].first_chunk()?;
            *value = u64::from_le_bytes(*word) >> (at % 8) & mask;
            at += width as usize;
        }
        self.at = end;
        Some(())
    }
}

#[cfg(test)]
mod tests;
