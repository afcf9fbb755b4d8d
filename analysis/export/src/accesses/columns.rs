//! Columns of a batch, filled one access group at a time.

use std::array;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use superstep_table::arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, UInt32Array, UInt64Array,
};
use superstep_trace::{AccessGroup, Op, Resolver, WARP_LANES};

use super::BATCH_ROWS;
use super::memory::{Column, Pool};

mod position {
    pub const LAUNCH: usize = 0;
    pub const SITE: usize = 1;
    pub const OP: usize = 2;
    pub const CTA: usize = 3;
    pub const WARP: usize = 4;
    pub const LANE: usize = 5;
    pub const SM: usize = 6;
    pub const WIDTH: usize = 7;
    pub const ADDRESS: usize = 8;
}

/// Maximum number of active lanes for which only a short prefix of the lanes is copied.
const FEW_LANES: usize = 8;

#[derive(Default)]
pub struct Pools {
    bytes: Arc<Pool<i8>>,
    words: Arc<Pool<u32>>,
    longs: Arc<Pool<u64>>,
}

/// The selected columns of a batch that is being filled.
pub struct Columns {
    rows: usize,
    op: Option<Column<i8>>,
    /// 32-bit columns by position in the table, from [`position::SITE`] to [`position::WIDTH`].
    words: [Option<Column<u32>>; position::ADDRESS],
    /// 64-bit columns by position in the table minus [`position::ADDRESS`].
    longs: [Option<Column<u64>>; 3],
    /// Rows with an address outside all allocations.
    holes: Vec<usize>,
}

/// Writes a fixed number of lanes at `row`, even if fewer are active: a copy of known length takes few instructions.
#[inline(always)]
fn put<T: ArrowNativeType>(
    column: &mut Option<Column<T>>,
    (row, lanes): (usize, usize),
    values: &[T; WARP_LANES],
) {
    if let Some(column) = column {
        let target = &mut column.values[row..row + WARP_LANES];
        match lanes <= FEW_LANES {
            true => target[..FEW_LANES].copy_from_slice(&values[..FEW_LANES]),
            false => target.copy_from_slice(values),
        }
    }
}

impl Columns {
    pub fn new(wanted: &[usize], pools: &Pools) -> Self {
        let is_wanted = |position| wanted.contains(&position);
        let is_word =
            |position| is_wanted(position) && ![position::LAUNCH, position::OP].contains(&position);
        Self {
            rows: 0,
            op: is_wanted(position::OP).then(|| pools.bytes.column()),
            words: array::from_fn(|at| is_word(at).then(|| pools.words.column())),
            longs: array::from_fn(|at| {
                is_wanted(position::ADDRESS + at).then(|| pools.longs.column())
            }),
            holes: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub fn is_full(&self) -> bool {
        self.rows + WARP_LANES > BATCH_ROWS
    }

    #[inline]
    pub fn push(&mut self, group: &AccessGroup, op: Op, resolver: &mut Resolver) {
        let at = (self.rows, group.lanes());
        for (position, value) in [
            (position::SITE, group.site.0),
            (position::CTA, group.cta),
            (position::WARP, group.warp),
            (position::SM, group.sm),
            (position::WIDTH, group.width_bytes),
        ] {
            put(&mut self.words[position], at, &[value; WARP_LANES]);
        }
        put(&mut self.op, at, &[op.code() as i8 - 1; WARP_LANES]);
        if self.words[position::LANE].is_some() {
            put(&mut self.words[position::LANE], at, &lanes_of(group.mask));
        }
        let [address, allocation, offset] = &mut self.longs;
        put(address, at, &group.addresses);
        if allocation.is_some() || offset.is_some() {
            self.locate(group, resolver);
        }
        self.rows += at.1;
    }

    /// Writes the allocations and offsets of a group's addresses, which are usually in one allocation.
    #[inline]
    fn locate(&mut self, group: &AccessGroup, resolver: &mut Resolver) {
        let addresses = group.active_addresses();
        let (mut ids, mut offsets) = ([0; WARP_LANES], [0; WARP_LANES]);
        let first = addresses.first();
        let first = first.and_then(|&address| resolver.find(address));
        let mut is_inside = false;
        if let Some(first) = first {
            ids = [u64::from(first.id.0); WARP_LANES];
            for (offset, address) in offsets.iter_mut().zip(&group.addresses) {
                *offset = address.wrapping_sub(first.address);
            }
            // The result's top bit is set if every offset is below the size and has a clear top bit. SSE2 cannot
            // compare 64-bit integers, but it can subtract them.
            let below = |all: u64, &offset: &u64| all & !offset & offset.wrapping_sub(first.bytes);
            is_inside = offsets[..addresses.len()].iter().fold(u64::MAX, below) >> 63 == 1;
        }
        if !is_inside {
            for (lane, &address) in addresses.iter().enumerate() {
                (ids[lane], offsets[lane]) = match resolver.find(address) {
                    Some(found) => (u64::from(found.id.0), address - found.address),
                    None => {
                        self.holes.push(self.rows + lane);
                        (0, 0)
                    }
                };
            }
        }
        let at = (self.rows, addresses.len());
        let [_, allocation, offset] = &mut self.longs;
        put(allocation, at, &ids);
        put(offset, at, &offsets);
    }

    /// Returns the arrays of the selected columns.
    pub fn arrays(
        mut self,
        launch: &ArrayRef,
        dictionary: &ArrayRef,
        wanted: &[usize],
    ) -> Vec<ArrayRef> {
        let rows = self.rows;
        let nulls = self.nulls();
        let array = |&position: &usize| -> Option<ArrayRef> {
            Some(match position {
                position::LAUNCH => launch.slice(0, rows),
                position::OP => {
                    let keys = Int8Array::new(self.op.take()?.finish(rows), None);
                    Arc::new(DictionaryArray::new(keys, dictionary.clone()))
                }
                position::ADDRESS.. => {
                    let column = self.longs[position - position::ADDRESS].take()?;
                    let nulls = nulls.clone().filter(|_| position > position::ADDRESS);
                    Arc::new(UInt64Array::new(column.finish(rows), nulls))
                }
                _ => Arc::new(UInt32Array::new(
                    self.words[position].take()?.finish(rows),
                    None,
                )),
            })
        };
        wanted.iter().filter_map(array).collect()
    }

    fn nulls(&self) -> Option<NullBuffer> {
        if self.holes.is_empty() {
            return None;
        }
        let mut bits = vec![u8::MAX; self.rows.div_ceil(8)];
        for &row in &self.holes {
            bits[row / 8] &= !(1 << (row % 8));
        }
        let bits = BooleanBuffer::new(Buffer::from_vec(bits), 0, self.rows);
        Some(NullBuffer::new(bits))
    }
}

/// Returns the indices of the active lanes, packed at the front.
#[inline]
fn lanes_of(mask: u32) -> [u32; WARP_LANES] {
    let mut lanes = std::array::from_fn(|lane| lane as u32);
    if mask.wrapping_add(1) & mask != 0 {
        let mut rest = mask;
        for lane in &mut lanes[..mask.count_ones() as usize] {
            *lane = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
        }
    }
    lanes
}
