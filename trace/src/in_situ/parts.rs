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

/// Number of bytes for each pair of address and width in most rows.
const USUAL_BYTES: u64 = 4;

fn encode(parts: &mut Parts) -> Vec<u8> {
    let (received, first_read) = (&mut parts.received, &mut parts.first_read);
    received.sort_unstable_by_key(|row| {
        let launches = (row.source_launch, row.receiver_launch);
        (launches, row.source_cta, row.receiver_cta)
    });
    first_read.sort_unstable();
    let mut out = Writer::default();
    out.number(received.len() as u64);
    out.differences(received, |row| row.source_launch);
    out.differences(received, |row| row.receiver_launch);
    out.differences(received, |row| row.source_cta);
    out.differences(received, |row| row.receiver_cta);
    out.numbers(received, |row| row.count);
    out.numbers(received, |row| {
        let usual = row.count.wrapping_mul(USUAL_BYTES);
        zigzag(row.bytes.wrapping_sub(usual) as i64)
    });
    out.number(first_read.len() as u64);
    out.differences(first_read, |row| row.source_launch);
    out.differences(first_read, |row| row.receiver_launch);
    out.numbers(first_read, |row| row.stored_bytes);
    out.numbers(first_read, |row| row.several_bytes);
    out.numbers(first_read, |row| row.perhaps_again_bytes);
    out.0
}

/// Decodes parts; returns `None` if the payload is malformed.
pub(crate) fn decode(payload: &[u8]) -> Option<Parts> {
    let mut reader = Reader { payload, at: 0 };
    let mut received = reader.rows::<Received>(6)?;
    reader.differences(&mut received, |row| &mut row.source_launch)?;
    reader.differences(&mut received, |row| &mut row.receiver_launch)?;
    reader.differences(&mut received, |row| &mut row.source_cta)?;
    reader.differences(&mut received, |row| &mut row.receiver_cta)?;
    reader.numbers(&mut received, |row| &mut row.count)?;
    reader.numbers(&mut received, |row| &mut row.bytes)?;
    for row in &mut received {
        let usual = row.count.wrapping_mul(USUAL_BYTES);
        row.bytes = usual.wrapping_add(unzigzag(row.bytes) as u64);
    }
    let mut first_read = reader.rows::<FirstRead>(5)?;
    reader.differences(&mut first_read, |row| &mut row.source_launch)?;
    reader.differences(&mut first_read, |row| &mut row.receiver_launch)?;
    reader.numbers(&mut first_read, |row| &mut row.stored_bytes)?;
    reader.numbers(&mut first_read, |row| &mut row.several_bytes)?;
    reader.numbers(&mut first_read, |row| &mut row.perhaps_again_bytes)?;
    (reader.at == payload.len()).then_some(Parts {
        received,
        first_read,
    })
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, value: u64) {
        append(&mut self.0, value);
    }

    fn numbers<T>(&mut self, rows: &[T], mut field: impl FnMut(&T) -> u64) {
        rows.iter().for_each(|row| self.number(field(row)));
    }

    /// Writes the difference between each number and its predecessor, which is 0 for the first.
    fn differences<T>(&mut self, rows: &[T], field: impl Fn(&T) -> u32) {
        let mut previous = 0;
        self.numbers(rows, |row| {
            let value = i64::from(field(row));
            zigzag(value - std::mem::replace(&mut previous, value))
        });
    }
}

struct Reader<'a> {
    payload: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        get(self.payload, &mut self.at)
    }

    /// Reads a row count and returns that many default rows, or `None` if the payload is too short for them.
    fn rows<T: Clone + Default>(&mut self, columns: usize) -> Option<Vec<T>> {
        let rows = usize::try_from(self.number()?).ok()?;
        let room = (self.payload.len() - self.at) / columns;
        (rows <= room).then(|| vec![T::default(); rows])
    }

    fn numbers<T>(&mut self, rows: &mut [T], field: impl Fn(&mut T) -> &mut u64) -> Option<()> {
        for row in rows {
            *field(row) = self.number()?;
        }
        Some(())
    }

    fn differences<T>(&mut self, rows: &mut [T], field: impl Fn(&mut T) -> &mut u32) -> Option<()> {
        let mut previous = 0u32;
        for row in rows {
            let value = i64::from(previous).checked_add(unzigzag(self.number()?))?;
            previous = u32::try_from(value).ok()?;
            *field(row) = previous;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
