//! Numbers of any width in bits, one after the other, the lowest bit first.

use crate::WARP_LANES;

/// The lowest `width` bits, up to 64.
#[inline(always)]
pub(super) const fn low_bits(width: u32) -> u64 {
    match width {
        0 => 0,
        _ => u64::MAX >> (64 - width),
    }
}

/// Bits that `value` needs.
#[inline(always)]
pub(super) const fn length(value: u64) -> u32 {
    64 - value.leading_zeros()
}

#[derive(Default)]
pub(super) struct BitWriter {
    words: Vec<u64>,
    last: Partial,
}

/// The bits that do not fill a word yet: `used` of them, fewer than 64; the others are 0.
#[derive(Clone, Copy, Default)]
struct Partial {
    word: u64,
    used: u32,
}

impl Partial {
    /// Takes `width` bits, at most 64. Answers the word if it is full.
    #[inline(always)]
    fn put(&mut self, value: u64, width: u32) -> Option<u64> {
        let word = self.word | value << self.used;
        let used = self.used + width;
        if used < 64 {
            *self = Partial { word, used };
            return None;
        }
        // Two shifts, because nothing may have been used.
        self.word = value >> 1 >> (63 - self.used);
        self.used = used - 64;
        Some(word)
    }
}

/// The words that a row of numbers fills.
struct Row {
    full: [u64; WARP_LANES],
    count: usize,
    last: Partial,
}

impl Row {
    #[inline(always)]
    fn after(last: Partial) -> Self {
        Row {
            full: [0; WARP_LANES],
            count: 0,
            last,
        }
    }

    #[inline(always)]
    fn put(&mut self, value: u64, width: u32) {
        if let Some(word) = self.last.put(value, width) {
            self.full[self.count % WARP_LANES] = word;
            self.count += 1;
        }
    }
}

impl BitWriter {
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.last = Partial::default();
    }

    /// Bytes so far, without the word that is not full.
    pub(super) fn len(&self) -> usize {
        self.words.len() * 8
    }

    /// Appends what was written to `out`, filled up with zeroes to a whole byte.
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

    /// Writes a `value` that has no bits from `width` on; `width` is at most 64.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(value & !low_bits(width) == 0);
        self.words.extend(self.last.put(value, width));
    }

    /// Writes up to 32 `values` with `width` bits each.
    #[inline(always)]
    pub(super) fn put_all<T: Copy + Into<u64>>(&mut self, values: &[T], width: u32) {
        // Outside of `self`, so that the compiler keeps it in registers.
        let mut row = Row::after(self.last);
        // Several of them make one number: the steps of `put` depend on each other, these do not.
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
        self.words
            .extend_from_slice(&row.full[..row.count.min(WARP_LANES)]);
        self.last = row.last;
    }
}

/// Where a reader of such numbers is.
#[derive(Clone, Copy, Default)]
pub(super) struct BitReader {
    at: usize,
}

impl BitReader {
    /// Whether nothing is left but the bits that fill the last byte up.
    pub(super) fn is_at_end(self, bytes: &[u8]) -> bool {
        self.at.div_ceil(8) == bytes.len()
    }

    /// A number of at most 64 bits; `None` when the bytes end.
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

    /// Fills `out` with numbers of at most 64 bits.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back(rows in prop::collection::vec((0u32..=64, prop::collection::vec(any::<u64>(), 0..33)), 0..12)) {
            let mut writer = BitWriter::default();
            let cut = |&(width, ref values): &(u32, Vec<u64>)| {
                values.iter().map(|value| value & low_bits(width)).collect::<Vec<_>>()
            };
            for row in &rows {
                writer.put_all(&cut(row), row.0);
            }
            let mut bytes = Vec::new();
            writer.copy_into(&mut bytes);
            let bits: usize = rows.iter().map(|(width, values)| *width as usize * values.len()).sum();
            prop_assert_eq!(bytes.len(), bits.div_ceil(8));
            let (mut all, mut one) = (BitReader::default(), BitReader::default());
            for row in &rows {
                let mut back = vec![0; row.1.len()];
                prop_assert_eq!(all.get_all(&bytes, row.0, &mut back), Some(()));
                prop_assert_eq!(&back, &cut(row));
                for &value in &back {
                    prop_assert_eq!(one.get(&bytes, row.0), Some(value));
                }
            }
            prop_assert!(all.is_at_end(&bytes));
            prop_assert_eq!(all.get(&bytes, 8), None);
        }
    }
}
