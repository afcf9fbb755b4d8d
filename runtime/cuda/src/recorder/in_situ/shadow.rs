//! Shadow memory and the table through which kernels find it.

use super::layout::{
    BLOCK_SHIFT, Block, ENTRY_BYTES, LINE_BYTES, LINES_BYTES, SHADOW_BYTES, STORED_IN_BYTES,
    UNKNOWN,
};
use crate::cuda::memory::{device_memory, free_and_total};
use crate::recorder::RecordError;
use crate::recorder::runtime::session;
use std::collections::BTreeMap;

/// Initial number of places in the table.
const MIN_PLACES: usize = 1 << 12;
/// Maximum number of places: one for each block in a 47-bit address space.
const MAX_PLACES: usize = 1 << 26;
/// Maximum number of blocks per shadow allocation: 4 GiB.
const MAX_AT_ONCE: u64 = 512;

/// Share of the device's memory (1/64) that stays free for kernels, local memory and libraries if there is no limit.
const FREE_SHARE: usize = 64;

#[derive(Default)]
pub struct Shadow {
    /// Pieces, by the number of their first block.
    pieces: BTreeMap<u64, Piece>,
    /// Sizes of the program's allocations, by first byte.
    pub live: BTreeMap<u64, u64>,
    places: usize,
    /// Whether some memory may have been written before its shadow existed, so that its writers are unknown.
    pub has_unknown_writers: bool,
}

/// The shadows of consecutive blocks in a single allocation: all entries, then all lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub blocks: u64,
    pub memory: u64,
}

impl Piece {
    pub fn bytes(&self) -> u64 {
        self.blocks * (SHADOW_BYTES + LINES_BYTES)
    }

    fn lines(&self) -> u64 {
        self.memory + self.blocks * SHADOW_BYTES
    }
}

/// A unit of memory: its size, the size of its shadow, and the start address of the shadows of a piece's units.
type Unit = (u64, u64, fn(&Piece) -> u64);
const WORD: Unit = (4, ENTRY_BYTES, |piece| piece.memory);
const LINE: Unit = (LINE_BYTES, STORED_IN_BYTES, Piece::lines);

impl Shadow {
    pub fn bytes(&self) -> u64 {
        self.pieces.values().map(Piece::bytes).sum()
    }

    /// Allocates the shadow of all blocks in a range until memory runs out. Adds the address and size of each new piece
    /// to `new`.
    pub fn cover(
        &mut self,
        address: u64,
        bytes: u64,
        new: &mut Vec<(u64, u64)>,
    ) -> Result<(), RecordError> {
        let (mut number, last) = blocks_of(address, bytes);
        while number <= last {
            if let Some((first, piece)) = self.piece_of(number) {
                number = first + piece.blocks;
                continue;
            }
            let next = self.pieces.range(number..).next();
            let next = next.map_or(u64::MAX, |(&first, _)| first);
            let blocks = (last + 1).min(next).min(number + MAX_AT_ONCE) - number;
            let mut piece = Piece { blocks, memory: 0 };
            self.check_limit(piece.bytes())?;
            piece.memory = device_memory(piece.bytes() as usize, "shadow memory")?;
            self.pieces.insert(number, piece);
            new.push((piece.memory, piece.bytes()));
            // The blocks between these two contain no other allocation.
            let edges = [number, number + blocks - 1];
            self.has_unknown_writers |= edges.iter().any(|&edge| self.has_others(edge, address));
            number += blocks;
        }
        Ok(())
    }

    /// Returns whether a block contains an allocation other than the one at `address`.
    fn has_others(&self, block: u64, address: u64) -> bool {
        let (first, end) = (block << BLOCK_SHIFT, (block + 1) << BLOCK_SHIFT);
        let mut others = (self.live.range(..end).rev()).filter(|&(&at, _)| at != address);
        others
            .next()
            .is_some_and(|(&at, &bytes)| at.saturating_add(bytes) > first)
    }

    fn check_limit(&self, bytes: u64) -> Result<(), RecordError> {
        if let Some(limit) = session().config().shadow_memory {
            if self.bytes() + bytes > limit {
                return Err(RecordError::ShadowMemoryLimit(limit));
            }
            return Ok(());
        }
        let (free, total) = free_and_total()?;
        if bytes > free.saturating_sub(total / FREE_SHARE) as u64 {
            return Err(RecordError::NoShadowMemory { bytes, free });
        }
        Ok(())
    }

    fn piece_of(&self, block: u64) -> Option<(u64, Piece)> {
        let (&first, &piece) = self.pieces.range(..=block).next_back()?;
        (block - first < piece.blocks).then_some((first, piece))
    }

    /// Removes and returns the shadow of memory that the program has freed.
    pub fn take_idle(&mut self) -> Vec<Piece> {
        let mut idle = Vec::new();
        self.pieces.retain(|&first, piece| {
            let end = (first + piece.blocks) << BLOCK_SHIFT;
            let last = self.live.range(..end).next_back();
            let is_used = last.is_some_and(|(&at, &bytes)| blocks_of(at, bytes).1 >= first);
            if !is_used {
                idle.push(*piece);
            }
            is_used
        });
        idle
    }

    pub fn take_all(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces).into_values().collect()
    }

    /// Removes the largest piece; returns it with the number of its first block.
    pub fn take_largest(&mut self) -> Option<(u64, Piece)> {
        let by_blocks = |(_, piece): &(&u64, &Piece)| piece.blocks;
        let (&first, _) = self.pieces.iter().max_by_key(by_blocks)?;
        self.pieces.remove_entry(&first)
    }

    /// Builds the table so that each block has its own place.
    pub fn table(&mut self) -> Result<Vec<Block>, RecordError> {
        let mut count = self.places.max(MIN_PLACES);
        loop {
            let mut places = vec![Block::default(); count];
            let blocks = self.pieces.iter().flat_map(|(&first, piece)| {
                (0..piece.blocks).map(move |index| Block {
                    number: first + index,
                    lines: piece.lines() + index * LINES_BYTES,
                    shadow: piece.memory + index * SHADOW_BYTES,
                    unused: 0,
                })
            });
            let fits = { blocks }.all(|block| {
                let place = &mut places[block.number as usize & (count - 1)];
                let is_free = place.number == 0;
                *place = block;
                is_free
            });
            if fits {
                self.places = count;
                return Ok(places);
            }
            count *= 2;
            if count > MAX_PLACES {
                return Err(RecordError::ShadowTable);
            }
        }
    }

    /// Returns the shadow memory of the units that a range covers fully, in pieces, and the shadow addresses of the
    /// units that it covers partly.
    fn pieces(&self, unit: Unit, address: u64, bytes: u64) -> (Vec<(u64, u64)>, Vec<u64>) {
        let (end, (size, shadow_bytes, _)) = (address.saturating_add(bytes), unit);
        let (first, last) = (address.next_multiple_of(size), end / size * size);
        let mut edges = Vec::new();
        if first != address {
            edges.extend(self.place_of(unit, address / size * size));
        }
        if last != end && last + size != first {
            edges.extend(self.place_of(unit, last));
        }
        let mut pieces = Vec::new();
        let mut at = first;
        while at < last {
            let border = ((at >> BLOCK_SHIFT) + 1) << BLOCK_SHIFT;
            let until = last.min(border);
            if let Some(place) = self.place_of(unit, at) {
                let bytes = (until - at) / size * shadow_bytes;
                match pieces.last_mut() {
                    Some((start, length)) if *start + *length == place => *length += bytes,
                    _ => pieces.push((place, bytes)),
                }
            }
            at = until;
        }
        (pieces, edges)
    }

    /// Returns the pieces of shadow memory to change for a range, each with its pattern; `at_edges` is the pattern for
    /// partly covered words.
    pub fn fills(
        &self,
        address: u64,
        bytes: u64,
        pattern: u8,
        at_edges: u8,
    ) -> Vec<((u64, u64), u8)> {
        let (words, edges) = self.pieces(WORD, address, bytes);
        let until = self.end_of_line(address.saturating_add(bytes));
        let (lines, cut) = self.pieces(LINE, address, until - address);
        let whole = words.into_iter().chain(lines).map(|piece| (piece, pattern));
        let edges = edges
            .into_iter()
            .map(|entry| ((entry, ENTRY_BYTES), at_edges));
        let cut = cut
            .into_iter()
            .map(|line| ((line, STORED_IN_BYTES), UNKNOWN));
        whole.chain(edges).chain(cut).collect()
    }

    /// Returns the end of a range, rounded up to a line if an allocation ends there and the rest of the line is free.
    fn end_of_line(&self, end: u64) -> u64 {
        let until = end.checked_next_multiple_of(LINE_BYTES).unwrap_or(end);
        let ends_here = (self.live.range(..end).next_back())
            .is_some_and(|(&start, &bytes)| start.saturating_add(bytes) == end);
        let is_free = self.live.range(end..until).next().is_none();
        if ends_here && is_free { until } else { end }
    }

    /// Returns the address in shadow memory of the unit at an address.
    fn place_of(&self, (size, shadow_bytes, start): Unit, address: u64) -> Option<u64> {
        let (first, piece) = self.piece_of(address >> BLOCK_SHIFT)?;
        Some(start(&piece) + (address - (first << BLOCK_SHIFT)) / size * shadow_bytes)
    }
}

fn blocks_of(address: u64, bytes: u64) -> (u64, u64) {
    let last = address.saturating_add(bytes.max(1) - 1);
    (address >> BLOCK_SHIFT, last >> BLOCK_SHIFT)
}

#[cfg(test)]
mod tests;
