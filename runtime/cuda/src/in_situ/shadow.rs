//! Shadow memory beside the program's, and the table that tells kernels where it lies.

use super::layout::{BLOCK_SHIFT, Block, ENTRY_BYTES, SHADOW_BYTES};
use crate::device::device_memory;
use std::collections::BTreeMap;

/// Places that the table has at first.
const FEWEST_PLACES: usize = 1 << 12;
/// Most places: as many blocks as 47 bits of address space have would need no more.
const MOST_PLACES: usize = 1 << 26;
/// Blocks whose shadow is allocated at once, at most: 4 GiB.
const MOST_AT_ONCE: u64 = 512;

/// The blocks that have a shadow.
#[derive(Default)]
pub struct Shadow {
    /// By number: address of the first entry.
    blocks: BTreeMap<u64, u64>,
    places: usize,
}

/// The table as the device has it.
pub struct Table {
    pub places: Vec<Block>,
}

impl Shadow {
    /// Gives all blocks of a range a shadow; answers whether there are new ones.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn cover(&mut self, address: u64, bytes: u64) -> Result<bool, String> {
        let (mut number, last) = blocks_of(address, bytes);
        let mut is_new = false;
        while number <= last {
            if self.blocks.contains_key(&number) {
                number += 1;
                continue;
            }
            let next = self
                .blocks
                .range(number..)
                .next()
                .map_or(u64::MAX, |(&n, _)| n);
            let count = (last + 1).min(next).min(number + MOST_AT_ONCE) - number;
            let memory = device_memory((count * SHADOW_BYTES) as usize, "shadow memory")? as u64;
            let blocks = (0..count).map(|index| (number + index, memory + index * SHADOW_BYTES));
            self.blocks.extend(blocks);
            number += count;
            is_new = true;
        }
        Ok(is_new)
    }

    /// The table in which every block has a place of its own.
    pub fn table(&mut self) -> Result<Table, String> {
        let mut count = self.places.max(FEWEST_PLACES);
        loop {
            let mut places = vec![Block::default(); count];
            let fits = self.blocks.iter().all(|(&number, &shadow)| {
                let place = &mut places[number as usize & (count - 1)];
                let is_free = place.number == 0;
                *place = Block {
                    number: number + 1,
                    shadow,
                };
                is_free
            });
            if fits {
                self.places = count;
                return Ok(Table { places });
            }
            count *= 2;
            if count > MOST_PLACES {
                return Err("failed to find a place for each block of shadow memory".to_owned());
            }
        }
    }

    /// The shadow of the words that lie wholly in a range, as pieces of memory, and the entries of those that do so partly.
    pub fn pieces(&self, address: u64, bytes: u64) -> (Vec<(u64, u64)>, Vec<u64>) {
        let end = address.saturating_add(bytes);
        let (first, last) = (address.next_multiple_of(4), end / 4 * 4);
        let mut edges = Vec::new();
        if first != address {
            edges.extend(self.entry(address / 4 * 4));
        }
        if last != end && last + 4 != first {
            edges.extend(self.entry(last));
        }
        let mut pieces = Vec::new();
        let mut at = first;
        while at < last {
            let border = ((at >> BLOCK_SHIFT) + 1) << BLOCK_SHIFT;
            let until = last.min(border);
            if let Some(entry) = self.entry(at) {
                let bytes = (until - at) / 4 * ENTRY_BYTES;
                match pieces.last_mut() {
                    Some((start, length)) if *start + *length == entry => *length += bytes,
                    _ => pieces.push((entry, bytes)),
                }
            }
            at = until;
        }
        (pieces, edges)
    }

    /// Address of a word's entry.
    fn entry(&self, word: u64) -> Option<u64> {
        let shadow = self.blocks.get(&(word >> BLOCK_SHIFT))?;
        Some(shadow + word % (1 << BLOCK_SHIFT) / 4 * ENTRY_BYTES)
    }
}

fn blocks_of(address: u64, bytes: u64) -> (u64, u64) {
    let last = address.saturating_add(bytes.max(1) - 1);
    (address >> BLOCK_SHIFT, last >> BLOCK_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadow(blocks: &[(u64, u64)]) -> Shadow {
        Shadow {
            blocks: blocks.iter().copied().collect(),
            places: 0,
        }
    }

    #[test]
    fn pieces_join_and_edges_are_told() {
        let block = 1 << BLOCK_SHIFT;
        let memory = shadow(&[
            (1, 0x1000_0000),
            (2, 0x1000_0000 + SHADOW_BYTES),
            (4, 0x9000_0000),
        ]);
        let (pieces, edges) = memory.pieces(block + 1, 10);
        assert_eq!(pieces, [(0x1000_0010, 16)]);
        assert_eq!(edges, [0x1000_0000, 0x1000_0020]);
        // Two blocks whose shadows follow each other, one without, and one elsewhere.
        let (pieces, edges) = memory.pieces(block, 4 * block);
        assert_eq!(
            pieces,
            [(0x1000_0000, 2 * SHADOW_BYTES), (0x9000_0000, SHADOW_BYTES)]
        );
        assert!(edges.is_empty());
        // Within one word.
        assert_eq!(memory.pieces(block + 5, 2), (vec![], vec![0x1000_0010]));
    }

    #[test]
    fn each_block_has_its_place() {
        let mut memory = shadow(&[(5, 1), (5 + FEWEST_PLACES as u64, 2)]);
        let table = memory.table().unwrap();
        assert_eq!(table.places.len(), 2 * FEWEST_PLACES);
        assert_eq!(
            table.places[5],
            Block {
                number: 6,
                shadow: 1
            }
        );
    }
}
