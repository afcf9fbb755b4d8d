//! Messages between machines, as a small number of packed rows.

use crate::communication::{BLOCK_RECORDS, Item, Sorted, Sums, pack, unpack};
use crate::error::{AnalysisError, Result};
use std::collections::VecDeque;
use superstep_trace::digest::mix;

/// A message between machines. The rows of a bucket must arrive in order of `chunk` and `number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Bucket that the row belongs to; all rows of a bucket go to one machine.
    pub bucket: u32,
    pub kind: Kind,
    pub chunk: u64,
    pub number: u32,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sums,
    Accesses,
    Loads,
    Stores,
    Transfers,
    /// Accesses across page boundaries.
    Wide,
}

impl Kind {
    pub fn from_number(number: u8) -> Result<Self> {
        Ok(match number {
            0 => Kind::Sums,
            1 => Kind::Accesses,
            2 => Kind::Loads,
            3 => Kind::Stores,
            4 => Kind::Transfers,
            5 => Kind::Wide,
            _ => return Err(unexpected("a row has an unknown kind")),
        })
    }
}

/// Rows in the order in which they become ready.
pub type Rows = Box<dyn Iterator<Item = Result<Row>> + Send>;

pub type NextRow<'a> = &'a mut dyn FnMut() -> Result<Option<Row>>;

pub(super) fn unexpected(what: &'static str) -> AnalysisError {
    AnalysisError::Part { what }
}

pub(super) fn sums_row(bucket: u32, sums: &Sums) -> Result<Row> {
    let bytes = serde_json::to_vec(sums).map_err(|_| unexpected("sums cannot be written"))?;
    let bytes = zstd::bulk::compress(&bytes, 1);
    Ok(Row {
        bucket,
        kind: Kind::Sums,
        chunk: 0,
        number: 0,
        bytes: bytes.map_err(|_| unexpected("sums cannot be packed"))?,
    })
}

pub(super) fn sums_of(row: &Row) -> Result<Sums> {
    let json = zstd::stream::decode_all(row.bytes.as_slice());
    let json = json.map_err(|_| unexpected("sums are malformed"))?;
    serde_json::from_slice(&json).map_err(|_| unexpected("sums are malformed"))
}

/// Number of items at which all buckets are flushed: 24 to 48 MiB.
const MAX_BUFFERED_ITEMS: usize = 1 << 20;

/// Packs `items` into rows by the bucket of each item's `owner`.
pub(super) fn packed<T: Item + 'static>(
    kind: Kind,
    items: Sorted<T>,
    buckets: u32,
    owner: impl Fn(&T) -> u64 + Send + 'static,
) -> Result<impl Iterator<Item = Result<Row>> + Send> {
    let mut items = items.into_items()?;
    let mut buffers: Vec<Vec<T>> = (0..buckets).map(|_| Vec::new()).collect();
    let (mut count, mut number) = (0, 0);
    let mut ready: VecDeque<(u32, Vec<T>)> = VecDeque::new();
    Ok(std::iter::from_fn(move || {
        while ready.is_empty() {
            let item = match items.next() {
                Some(Ok(item)) => Some(item),
                Some(Err(error)) => return Some(Err(error)),
                None if count == 0 => return None,
                None => None,
            };
            if let Some(item) = item {
                let bucket = (mix(owner(&item).wrapping_add(0x9e37_79b9_7f4a_7c15))
                    % u64::from(buckets)) as u32;
                let buffer = &mut buffers[bucket as usize];
                buffer.push(item);
                count += 1;
                if buffer.len() >= BLOCK_RECORDS {
                    count -= buffer.len();
                    ready.push_back((bucket, std::mem::take(buffer)));
                }
            }
            if item.is_none() || count >= MAX_BUFFERED_ITEMS {
                let buffers = (0..).zip(&mut buffers);
                let filled = buffers.filter(|(_, items)| !items.is_empty());
                ready.extend(filled.map(|(bucket, items)| (bucket, std::mem::take(items))));
                count = 0;
            }
        }
        let (bucket, items) = ready.pop_front()?;
        number += 1;
        let mut bytes = (items.len() as u32).to_le_bytes().to_vec();
        bytes.extend(pack(&[&items]));
        Some(Ok(Row {
            bucket,
            kind,
            chunk: 0,
            number,
            bytes,
        }))
    }))
}

pub(super) fn items_of<T: Item>(row: &Row) -> Result<Vec<T>> {
    let malformed = || unexpected("packed items are malformed");
    let (count, packed) = row.bytes.split_first_chunk().ok_or_else(malformed)?;
    let count = u32::from_le_bytes(*count) as usize;
    if count > MAX_BUFFERED_ITEMS {
        return Err(malformed());
    }
    let mut items = Vec::new();
    unpack(packed, count, &mut items).map_err(|_| malformed())?;
    Ok(items)
}
