//! The shadow memory entries for a page of the program's memory.

use super::entry::Entry;

pub const PAGE_BYTES: u64 = 1 << 14;
pub const WORD_BYTES: u64 = 4;
const ALL_BYTES: u8 = 0xf;

/// Entries of words, and of the individual bytes of partly written words.
pub struct Page {
    words: Box<[Entry]>,
    bytes: Vec<[Entry; 4]>,
}

impl Page {
    pub fn new() -> Self {
        Page {
            words: vec![Entry::UNWRITTEN; (PAGE_BYTES / WORD_BYTES) as usize].into(),
            bytes: Vec::new(),
        }
    }

    pub fn fill(&mut self, start: u64, end: u64, entry: Entry) {
        for (word, bytes) in words(start, end) {
            self.each_split(word, bytes, |old, _| *old = entry);
        }
    }

    /// Passes a word's entry, or the entries of a split word's bytes, to `visit`, each with a mask of its bytes.
    #[inline]
    pub fn each(&mut self, word: usize, bytes: u8, mut visit: impl FnMut(&mut Entry, u8)) {
        let entry = &mut self.words[word];
        let Some(place) = entry.split_place() else {
            return visit(entry, bytes);
        };
        for (byte, entry) in self.bytes[place].iter_mut().enumerate() {
            if bytes >> byte & 1 != 0 {
                visit(entry, 1 << byte);
            }
        }
    }

    /// Like [`each`](Self::each), but first splits the word if `bytes` covers only part of it.
    #[inline]
    pub fn each_split(&mut self, word: usize, bytes: u8, visit: impl FnMut(&mut Entry, u8)) {
        let entry = self.words[word];
        if bytes != ALL_BYTES && entry.split_place().is_none() {
            self.words[word] = Entry::split(self.bytes.len());
            self.bytes.push([entry; 4]);
        }
        self.each(word, bytes, visit);
    }
}

/// Iterates over the words in a range of a page, with masks of their bytes.
pub fn words(start: u64, end: u64) -> impl Iterator<Item = (usize, u8)> {
    (start / WORD_BYTES..end.div_ceil(WORD_BYTES)).map(move |word| {
        let first = start.saturating_sub(word * WORD_BYTES);
        let past = (end - word * WORD_BYTES).min(WORD_BYTES);
        let bytes = ALL_BYTES >> (WORD_BYTES - past) & ALL_BYTES << first;
        (word as usize, bytes)
    })
}

#[cfg(test)]
mod tests;
