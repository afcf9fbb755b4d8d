//! Tests for `shadow`.

use super::*;

fn shadow(blocks: &[(u64, u64)]) -> Shadow {
    let piece = |&(block, memory)| (block, Piece { blocks: 1, memory });
    Shadow {
        pieces: blocks.iter().map(piece).collect(),
        ..Shadow::default()
    }
}

#[test]
fn shadow_without_an_allocation_is_idle() {
    let mut memory = shadow(&[(1, 0x10), (2, 0x20), (5, 0x50)]);
    let piece = |memory| Piece { blocks: 1, memory };
    // One allocation from the last byte of block 1 to the first of block 2, and one in block 4.
    memory.live.insert((2 << BLOCK_SHIFT) - 1, 2);
    memory.live.insert(4 << BLOCK_SHIFT, 1 << BLOCK_SHIFT);
    assert_eq!(memory.take_idle(), [piece(0x50)]);
    assert_eq!(memory.take_idle(), []);
    memory.live.remove(&((2 << BLOCK_SHIFT) - 1));
    assert_eq!(memory.take_idle(), [piece(0x10), piece(0x20)]);
}

#[test]
fn blocks_may_contain_other_allocations() {
    let block = 1 << BLOCK_SHIFT;
    let mut memory = shadow(&[]);
    // One allocation from block 1 into block 3, and one within block 3.
    memory.live.insert(block + 8, 2 * block);
    memory.live.insert(3 * block + 16, 8);
    let others = |address| [0, 1, 2, 3, 4].map(|number| memory.has_others(number, address));
    assert_eq!(others(block + 8), [false, false, false, true, false]);
    assert_eq!(others(3 * block + 16), [false, true, true, true, false]);
}

#[test]
fn pieces_join_and_edges_are_separate() {
    let block = 1 << BLOCK_SHIFT;
    let memory = shadow(&[
        (1, 0x1000_0000),
        (2, 0x1000_0000 + SHADOW_BYTES),
        (4, 0x9000_0000),
    ]);
    let (pieces, edges) = memory.pieces(WORD, block + 1, 10);
    assert_eq!(pieces, [(0x1000_0010, 16)]);
    assert_eq!(edges, [0x1000_0000, 0x1000_0020]);
    // Two blocks with adjacent shadows, one without a shadow, and one whose shadow is elsewhere.
    let (pieces, edges) = memory.pieces(WORD, block, 4 * block);
    assert_eq!(
        pieces,
        [(0x1000_0000, 2 * SHADOW_BYTES), (0x9000_0000, SHADOW_BYTES)]
    );
    assert!(edges.is_empty());
    // A range within one word.
    assert_eq!(
        memory.pieces(WORD, block + 5, 2),
        (vec![], vec![0x1000_0010])
    );
}

#[test]
fn partly_written_lines_are_edges() {
    let block = 1 << BLOCK_SHIFT;
    let memory = shadow(&[(1, 0x1000_0000)]);
    let lines = 0x1000_0000 + SHADOW_BYTES;
    let (pieces, edges) = memory.pieces(LINE, block + 64, 130);
    assert_eq!(pieces, [(lines + 8, 16)]);
    assert_eq!(edges, [lines + 24]);
}

#[test]
fn an_allocation_has_exclusive_use_of_its_last_line() {
    let block = 1 << BLOCK_SHIFT;
    let mut memory = shadow(&[(1, 0x1000_0000)]);
    let lines = 0x1000_0000 + SHADOW_BYTES;
    memory.live.insert(block, 40);
    let fills = |memory: &Shadow| memory.fills(block, 40, 7, 8);
    let words = ((0x1000_0000, 10 * ENTRY_BYTES), 7);
    assert_eq!(fills(&memory), [words, ((lines, 8), 7)]);
    memory.live.insert(block + 48, 8);
    let cut = ((lines + 4, 4), UNKNOWN);
    assert_eq!(fills(&memory), [words, ((lines, 4), 7), cut]);
}

#[test]
fn each_block_has_a_place_in_the_table() {
    let mut memory = shadow(&[(5, 1), (5 + MIN_PLACES as u64, 2)]);
    let table = memory.table().unwrap();
    assert_eq!(table.len(), 2 * MIN_PLACES);
    assert_eq!(
        table[5],
        Block {
            number: 5,
            lines: 1 + SHADOW_BYTES,
            shadow: 1,
            unused: 0
        }
    );
}
