//! Columns of a batch, filled one access group at a time.

use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use superstep_table::arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, UInt32Array, UInt64Array,
};
use superstep_trace::{AccessGroup, Op, Resolver, WARP_LANES};

use super::BATCH_ROWS;
use super::memory::{Column, Pool};

mod place {
    pub const LAUNCH: usize = 0;
    pub const SITE: usize = 1;
    pub const OP: usize = 2;
    pub const CTA: usize = 3;
    pub const WARP: usize = 4;
    pub const LANE: usize = 5;
    pub const SM: usize = 6;
    pub const WIDTH: usize = 7;
    pub const ADDRESS: usize = 8;
    pub const ALLOCATION: usize = 9;
    pub const OFFSET: usize = 10;
}

/// Groups up to this size are written in fewer instructions.
const FEW_LANES: usize = 8;

pub struct Pools {
    bytes: Arc<Pool<i8>>,
    words: Arc<Pool<u32>>,
    longs: Arc<Pool<u64>>,
}

impl Pools {
    pub fn new() -> Self {
        Self {
            bytes: Pool::new(),
            words: Pool::new(),
            longs: Pool::new(),
        }
    }
}

/// The selected columns of a batch that is being filled.
pub struct Columns {
    rows: usize,
    op: Option<Column<i8>>,
    site: Option<Column<u32>>,
    cta: Option<Column<u32>>,
    warp: Option<Column<u32>>,
    lane: Option<Column<u32>>,
    sm: Option<Column<u32>>,
    width_bytes: Option<Column<u32>>,
    address: Option<Column<u64>>,
    allocation: Option<Column<u64>>,
    offset: Option<Column<u64>>,
    /// Rows whose address is in no allocation.
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
        let room = &mut column.values[row..row + WARP_LANES];
        match lanes <= FEW_LANES {
            true => room[..FEW_LANES].copy_from_slice(&values[..FEW_LANES]),
            false => room.copy_from_slice(values),
        }
    }
}

impl Columns {
    pub fn new(wanted: &[usize], pools: &Pools) -> Self {
        fn column<T: ArrowNativeType>(is_wanted: bool, pool: &Arc<Pool<T>>) -> Option<Column<T>> {
            is_wanted.then(|| pool.column())
        }
        let word = |place| column(wanted.contains(&place), &pools.words);
        let long = |place| column(wanted.contains(&place), &pools.longs);
        Self {
            rows: 0,
            op: column(wanted.contains(&place::OP), &pools.bytes),
            site: word(place::SITE),
            cta: word(place::CTA),
            warp: word(place::WARP),
            lane: word(place::LANE),
            sm: word(place::SM),
            width_bytes: word(place::WIDTH),
            address: long(place::ADDRESS),
            allocation: long(place::ALLOCATION),
            offset: long(place::OFFSET),
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
        let same = |column: &mut Option<Column<u32>>, value| put(column, at, &[value; WARP_LANES]);
        same(&mut self.site, group.site.0);
        same(&mut self.cta, group.cta);
        same(&mut self.warp, group.warp);
        same(&mut self.sm, group.sm);
        same(&mut self.width_bytes, group.width_bytes);
        put(&mut self.op, at, &[op.code() as i8 - 1; WARP_LANES]);
        if self.lane.is_some() {
            put(&mut self.lane, at, &lanes_of(group.mask));
        }
        put(&mut self.address, at, &group.addresses);
        if self.allocation.is_some() || self.offset.is_some() {
            self.place(group, resolver);
        }
        self.rows += at.1;
    }

    /// Writes the allocations and offsets of a group's addresses, which are usually in one allocation.
    #[inline]
    fn place(&mut self, group: &AccessGroup, resolver: &mut Resolver) {
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
            // The highest bit is set if it is clear in all offsets and all are below the size. SSE2 cannot compare 64-bit
            // integers, but it can subtract them.
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
        put(&mut self.allocation, at, &ids);
        put(&mut self.offset, at, &offsets);
    }

    /// Returns the arrays of the wanted columns.
    pub fn arrays(
        mut self,
        launch: &ArrayRef,
        dictionary: &ArrayRef,
        wanted: &[usize],
    ) -> Vec<ArrayRef> {
        let rows = self.rows;
        let nulls = self.nulls();
        let word = |column: &mut Option<Column<u32>>| -> Option<ArrayRef> {
            Some(Arc::new(UInt32Array::new(
                column.take()?.finish(rows),
                None,
            )))
        };
        let long = |column: &mut Option<Column<u64>>, nulls| -> Option<ArrayRef> {
            Some(Arc::new(UInt64Array::new(
                column.take()?.finish(rows),
                nulls,
            )))
        };
        let array = |&place: &usize| -> Option<ArrayRef> {
            match place {
                place::LAUNCH => Some(launch.slice(0, rows)),
                place::SITE => word(&mut self.site),
                place::OP => {
                    let keys = Int8Array::new(self.op.take()?.finish(rows), None);
                    Some(Arc::new(DictionaryArray::new(keys, dictionary.clone())))
                }
                place::CTA => word(&mut self.cta),
                place::WARP => word(&mut self.warp),
                place::LANE => word(&mut self.lane),
                place::SM => word(&mut self.sm),
                place::WIDTH => word(&mut self.width_bytes),
                place::ADDRESS => long(&mut self.address, None),
                place::ALLOCATION => long(&mut self.allocation, nulls.clone()),
                place::OFFSET => long(&mut self.offset, nulls.clone()),
                _ => None,
            }
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

/// Returns the numbers of the active lanes, without gaps.
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
