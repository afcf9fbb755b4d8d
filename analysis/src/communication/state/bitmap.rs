//! A set of byte offsets in a page that can be cleared in time proportional to the number of elements.

use super::shadow::PAGE_BYTES;

/// Number of words in a bitmap with one bit for each byte of a page.
pub(crate) const WORDS: usize = PAGE_BYTES / 64;

pub(crate) struct Bitmap {
    words: [u64; WORDS],
    /// Bit *i* is set if word *i* is not zero.
    touched: u64,
}

impl Bitmap {
    pub(crate) const fn new() -> Self {
        Self {
            words: [0; WORDS],
            touched: 0,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.touched == 0
    }

    /// Adds `start..start + len` and calls `fresh(word, bits)` for each word that gets new bits.
    #[inline]
    pub(crate) fn insert(&mut self, start: usize, len: usize, mut fresh: impl FnMut(usize, u64)) {
        for_each_word(start, len, |word, mask| {
            let bits = mask & !self.words[word];
            if bits != 0 {
                self.words[word] |= bits;
                self.touched |= 1 << word;
                fresh(word, bits);
            }
        });
    }

    /// Adds the range and returns the number of new elements.
    #[inline]
    pub(crate) fn insert_counting(&mut self, start: usize, len: usize) -> u64 {
        let mut count = 0;
        self.insert(start, len, |_, bits| count += u64::from(bits.count_ones()));
        count
    }

    #[inline]
    pub(crate) fn contains(&self, at: usize) -> bool {
        self.words[at / 64] >> (at % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn contains_any(&self, start: usize, len: usize) -> bool {
        let mut found = 0;
        for_each_word(start, len, |word, mask| found |= self.words[word] & mask);
        found != 0
    }

    #[inline]
    pub(crate) fn contains_all(&self, start: usize, len: usize) -> bool {
        let mut missing = 0;
        for_each_word(start, len, |word, mask| missing |= !self.words[word] & mask);
        missing == 0
    }

    #[inline]
    pub(crate) fn count(&self, start: usize, len: usize) -> u64 {
        let mut count = 0;
        for_each_word(start, len, |word, mask| {
            count += u64::from((self.words[word] & mask).count_ones());
        });
        count
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        while self.touched != 0 {
            self.words[self.touched.trailing_zeros() as usize] = 0;
            self.touched &= self.touched - 1;
        }
    }
}

/// Calls `f(word, mask)` for every 64-bit word that overlaps the bit range `start..start + len`.
#[inline]
pub(crate) fn for_each_word(start: usize, len: usize, mut f: impl FnMut(usize, u64)) {
    let end = start + len;
    let mut at = start;
    while at < end {
        let bit = at % 64;
        let take = (64 - bit).min(end - at);
        let mask = (u64::MAX >> (64 - take)) << bit;
        f(at / 64, mask);
        at += take;
    }
}

#[cfg(test)]
mod tests;
