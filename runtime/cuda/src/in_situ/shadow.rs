//! Shadow memory beside the program's, and the table that tells kernels where it lies.

use super::fill_alone;
use super::layout::{
    BLOCK_SHIFT, Block, ENTRY_BYTES, FLAGS_BYTES, LINE_BYTES, NOBODY_KNOWS, SHADOW_BYTES,
};
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
    /// By number.
    blocks: BTreeMap<u64, Place>,
    places: usize,
}

/// Where the shadow of a block lies: addresses of the first line's flag and of the first word's entry.
#[derive(Clone, Copy)]
struct Place {
    flags: u64,
    shadow: u64,
}

/// What has something of its own in shadow memory.
#[derive(Clone, Copy)]
pub enum Unit {
    Word,
    Line,
}

impl Unit {
    fn bytes(self) -> u64 {
        match self {
            Unit::Word => 4,
            Unit::Line => LINE_BYTES,
        }
    }

    fn shadow_bytes(self) -> u64 {
        match self {
            Unit::Word => ENTRY_BYTES,
            Unit::Line => 1,
        }
    }
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
            let bytes = count * (SHADOW_BYTES + FLAGS_BYTES);
            let memory = device_memory(bytes as usize, "shadow memory")? as u64;
            let flags = memory + count * SHADOW_BYTES;
            fill_alone(&[(flags, count * FLAGS_BYTES)], NOBODY_KNOWS)?;
            let blocks = (0..count).map(|index| {
                let place = Place {
                    flags: flags + index * FLAGS_BYTES,
                    shadow: memory + index * SHADOW_BYTES,
                };
                (number + index, place)
            });
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
            let fits = self
                .blocks
                .iter()
                .all(|(&number, &Place { flags, shadow })| {
                    let place = &mut places[number as usize & (count - 1)];
                    let is_free = place.number == 0;
                    *place = Block {
                        number: number + 1,
                        flags,
                        shadow,
                        unused: 0,
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

    /// What units that lie wholly in a range have in shadow memory, as pieces of memory, and the addresses of what others have.
    pub fn pieces(&self, unit: Unit, address: u64, bytes: u64) -> (Vec<(u64, u64)>, Vec<u64>) {
        let (end, size) = (address.saturating_add(bytes), unit.bytes());
        let (first, last) = (address.next_multiple_of(size), end / size * size);
        let mut edges = Vec::new();
        if first != address {
            edges.extend(self.entry(unit, address / size * size));
        }
        if last != end && last + size != first {
            edges.extend(self.entry(unit, last));
        }
        let mut pieces = Vec::new();
        let mut at = first;
        while at < last {
            let border = ((at >> BLOCK_SHIFT) + 1) << BLOCK_SHIFT;
            let until = last.min(border);
            if let Some(entry) = self.entry(unit, at) {
                let bytes = (until - at) / size * unit.shadow_bytes();
                match pieces.last_mut() {
                    Some((start, length)) if *start + *length == entry => *length += bytes,
                    _ => pieces.push((entry, bytes)),
                }
            }
            at = until;
        }
        (pieces, edges)
    }

    /// Where the unit at an address has something in shadow memory.
    fn entry(&self, unit: Unit, address: u64) -> Option<u64> {
        let place = self.blocks.get(&(address >> BLOCK_SHIFT))?;
        let first = match unit {
            Unit::Word => place.shadow,
            Unit::Line => place.flags,
        };
        Some(first + address % (1 << BLOCK_SHIFT) / unit.bytes() * unit.shadow_bytes())
    }
}

fn blocks_of(address: u64, bytes: u64) -> (u64, u64) {
    let last = address.saturating_add(bytes.max(1) - 1);
    (address >> BLOCK_SHIFT, last >> BLOCK_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags are where entries are, and a bit.
    fn shadow(blocks: &[(u64, u64)]) -> Shadow {
        let place = |shadow| Place {
            flags: shadow | 1 << 60,
            shadow,
        };
        Shadow {
            blocks: (blocks.iter())
                .map(|&(number, shadow)| (number, place(shadow)))
                .collect(),
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
        let (pieces, edges) = memory.pieces(Unit::Word, block + 1, 10);
        assert_eq!(pieces, [(0x1000_0010, 16)]);
        assert_eq!(edges, [0x1000_0000, 0x1000_0020]);
        // Two blocks whose shadows follow each other, one without, and one elsewhere.
        let (pieces, edges) = memory.pieces(Unit::Word, block, 4 * block);
        assert_eq!(
            pieces,
            [(0x1000_0000, 2 * SHADOW_BYTES), (0x9000_0000, SHADOW_BYTES)]
        );
        assert!(edges.is_empty());
        // Within one word.
        assert_eq!(
            memory.pieces(Unit::Word, block + 5, 2),
            (vec![], vec![0x1000_0010])
        );
    }

    #[test]
    fn lines_that_are_written_in_part_are_edges() {
        let block = 1 << BLOCK_SHIFT;
        let memory = shadow(&[(1, 0x1000_0000)]);
        let (pieces, edges) = memory.pieces(Unit::Line, block + 64, 130);
        assert_eq!(pieces, [(0x1000_0002 | 1 << 60, 4)]);
        assert_eq!(edges, [0x1000_0006 | 1 << 60]);
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
                flags: 1 | 1 << 60,
                shadow: 1,
                unused: 0
            }
        );
    }
}
