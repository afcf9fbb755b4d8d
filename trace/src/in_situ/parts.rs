//! Encodes parts of tables for a chunk, sorted and by column, so that adjacent numbers differ little.
//! `docs/trace-format.md` describes every number.

use crate::container::{Kind, SealedChunk};
use crate::varint::{append, get, unzigzag, zigzag};
use crate::{FirstRead, Parts, Received};

impl Parts {
    pub fn seal(mut self) -> SealedChunk {
        SealedChunk::new(Kind::PARTS, 0, 0, &encode(&mut self))
    }
}

/// A field of all rows.
enum Column<T> {
    Numbers(fn(&mut T) -> &mut u64),
    /// The difference between each number and a usual one, which depends on the preceding columns.
    Unusual(fn(&mut T) -> &mut u64, fn(&T) -> u64),
    /// The difference between each number and its predecessor, which is 0 for the first.
    Differences(fn(&mut T) -> &mut u32),
}
use Column::*;

/// Number of bytes for each pair of address and width in most rows.
const USUAL_BYTES: u64 = 4;

const RECEIVED: [Column<Received>; 6] = [
    Differences(|row| &mut row.source_launch),
    Differences(|row| &mut row.receiver_launch),
    Differences(|row| &mut row.source_cta),
    Differences(|row| &mut row.receiver_cta),
    Numbers(|row| &mut row.count),
    Unusual(
        |row| &mut row.bytes,
        |row| row.count.wrapping_mul(USUAL_BYTES),
    ),
];

const FIRST_READ: [Column<FirstRead>; 5] = [
    Differences(|row| &mut row.source_launch),
    Differences(|row| &mut row.receiver_launch),
    Numbers(|row| &mut row.stored_bytes),
    Numbers(|row| &mut row.several_bytes),
    Numbers(|row| &mut row.perhaps_again_bytes),
];

fn encode(parts: &mut Parts) -> Vec<u8> {
    let (received, first_read) = (&mut parts.received, &mut parts.first_read);
    received.sort_unstable_by_key(|row| {
        let launches = (row.source_launch, row.receiver_launch);
        (launches, row.source_cta, row.receiver_cta)
    });
    first_read.sort_unstable();
    let mut out = Vec::new();
    write(&mut out, received, &RECEIVED);
    write(&mut out, first_read, &FIRST_READ);
    out
}

/// Decodes parts; returns `None` if the payload is malformed.
pub(crate) fn decode(payload: &[u8]) -> Option<Parts> {
    let mut at = 0;
    let received = read(payload, &mut at, &RECEIVED)?;
    let first_read = read(payload, &mut at, &FIRST_READ)?;
    (at == payload.len()).then_some(Parts {
        received,
        first_read,
    })
}

/// Writes the number of rows, then their columns.
fn write<T>(out: &mut Vec<u8>, rows: &mut [T], columns: &[Column<T>]) {
    append(out, rows.len() as u64);
    for column in columns {
        let mut previous = 0;
        for row in &mut *rows {
            let number = match column {
                Numbers(field) => *field(row),
                Unusual(field, usual) => zigzag(field(row).wrapping_sub(usual(row)) as i64),
                Differences(field) => {
                    let value = i64::from(*field(row));
                    zigzag(value - std::mem::replace(&mut previous, value))
                }
            };
            append(out, number);
        }
    }
}

/// Reads rows, or returns `None` if the payload is too short for their number.
fn read<T: Clone + Default>(
    payload: &[u8],
    at: &mut usize,
    columns: &[Column<T>],
) -> Option<Vec<T>> {
    let count = usize::try_from(get(payload, at)?).ok()?;
    let room = (payload.len() - *at) / columns.len();
    let mut rows = (count <= room).then(|| vec![T::default(); count])?;
    for column in columns {
        let mut previous = 0u32;
        for row in &mut rows {
            let number = get(payload, at)?;
            match column {
                Numbers(field) => *field(row) = number,
                Unusual(field, usual) => {
                    *field(row) = usual(row).wrapping_add(unzigzag(number) as u64);
                }
                Differences(field) => {
                    let value = i64::from(previous).checked_add(unzigzag(number))?;
                    previous = u32::try_from(value).ok()?;
                    *field(row) = previous;
                }
            }
        }
    }
    Some(rows)
}

#[cfg(test)]
mod tests;
