//! The bytes that a CTA and its block of CTAs received from others.

use super::page::WORD_BYTES;
use rustc_hash::{FxHashMap, FxHashSet};
use superstep_trace::{CtaBlocks, Received};

/// Launch and CTA of a source.
pub type SourceCta = (u32, u32);

#[derive(Clone, Copy, Default)]
struct Amount {
    bytes: u64,
    count: u64,
}

/// A load: address, width and source.
type Read = (u64, u32, SourceCta);

/// Marks a word that was counted as fully read, so that most reads need no element in `reads`.
const WHOLE: u8 = 0x10;

/// Counter of received data, which counts each byte once, and each pair of address and width once per source.
#[derive(Default)]
pub struct Receiver {
    /// Masks of bytes by word address, with [`WHOLE`].
    bytes: FxHashMap<u64, u8>,
    reads: FxHashSet<Read>,
    /// The last read, which other lanes of the warp usually repeat.
    last: Option<Read>,
    /// The word and bytes added last.
    last_part: (u64, u8),
    /// Amounts that the CTA's block received, by launch and first CTA of the source's block.
    from: FxHashMap<SourceCta, Amount>,
}

impl Receiver {
    /// Adds bytes of a word. `load` is the address and width of the load if the load is to be counted.
    #[inline]
    pub fn add(
        &mut self,
        word: u64,
        bytes: u8,
        load: Option<(u64, u32)>,
        from: SourceCta,
        blocks: CtaBlocks,
    ) {
        let read = load.map(|(address, width)| (address, width, from));
        if read.is_some() && read == self.last && self.last_part == (word, bytes) {
            return;
        }
        self.last_part = (word, bytes);
        let known = self.bytes.entry(word).or_insert(0);
        let new = bytes & !*known;
        *known |= bytes;
        let is_word = load == Some((word * WORD_BYTES, WORD_BYTES as u32));
        let is_new = if is_word && (bytes == 0xf || *known & WHOLE != 0) {
            let is_new = *known & WHOLE == 0;
            *known |= WHOLE;
            is_new
        } else {
            read.is_some_and(|read| self.last != Some(read) && self.reads.insert(read))
        };
        self.last = read.or(self.last);
        if new != 0 || is_new {
            let amount = self.from.entry((from.0, blocks.first(from.1))).or_default();
            amount.bytes += u64::from(new.count_ones());
            amount.count += u64::from(is_new);
        }
    }

    /// Forgets the CTA's reads, since reads by the next CTA are counted separately.
    pub fn leave_cta(&mut self) {
        self.bytes.clear();
        self.reads.clear();
        self.last = None;
    }

    /// Moves the amounts of the block that begins with `cta` in `launch` to `all`, where launches are numbered from 0
    /// instead of 1.
    pub fn leave_block(&mut self, launch: u32, cta: u32, all: &mut Vec<Received>) {
        let parts = self.from.drain();
        all.extend(parts.map(|((source_launch, source_cta), amount)| Received {
            source_launch: source_launch - 1,
            source_cta,
            receiver_launch: launch - 1,
            receiver_cta: cta,
            bytes: amount.bytes,
            count: amount.count,
        }));
    }
}
