//! The columns of a batch, appended to a group at a time.

use std::sync::Arc;

use superstep_table::arrow_array::types::Int8Type;
use superstep_table::arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, UInt32Array, UInt64Array,
};
use superstep_trace::{AccessGroup, Allocation, Op, Resolver, WARP_LANES};

use super::BATCH_ROWS;

/// Places of the columns in the table.
mod place {
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
    pub const ALL: usize = 11;
}

/// Columns of a batch while it grows. Those that nobody wants stay empty.
pub struct Columns {
    pub rows: usize,
    wanted: [bool; place::ALL],
    op: Vec<i8>,
    site: Vec<u32>,
    cta: Vec<u32>,
    warp: Vec<u32>,
    lane: Vec<u32>,
    sm: Vec<u32>,
    width_bytes: Vec<u32>,
    address: Vec<u64>,
    allocation: Vec<u64>,
    offset: Vec<u64>,
    /// Rows whose address no allocation holds.
    holes: Vec<usize>,
}

/// Appends `lanes` of 32 values. To copy all of them and to cut off the rest is a few instructions, whatever `lanes` is.
#[inline(always)]
fn append<T: Copy>(column: &mut Vec<T>, values: &[T; WARP_LANES], lanes: usize) {
    let rows = column.len() + lanes;
    column.extend_from_slice(values);
    column.truncate(rows);
}

impl Columns {
    pub fn new(columns: &[usize]) -> Self {
        let wanted = std::array::from_fn(|place| columns.contains(&place));
        fn room<T>(is_wanted: bool) -> Vec<T> {
            Vec::with_capacity(if is_wanted { BATCH_ROWS } else { 0 })
        }
        Self {
            rows: 0,
            wanted,
            op: room(wanted[place::OP]),
            site: room(wanted[place::SITE]),
            cta: room(wanted[place::CTA]),
            warp: room(wanted[place::WARP]),
            lane: room(wanted[place::LANE]),
            sm: room(wanted[place::SM]),
            width_bytes: room(wanted[place::WIDTH]),
            address: room(wanted[place::ADDRESS]),
            allocation: room(wanted[place::ALLOCATION]),
            offset: room(wanted[place::OFFSET]),
            holes: Vec::new(),
        }
    }

    #[inline]
    pub fn push(&mut self, group: &AccessGroup, op: Op, resolver: &mut Resolver) {
        let lanes = group.lanes();
        let same = |column: &mut Vec<u32>, place: usize, value: u32| {
            if self.wanted[place] {
                append(column, &[value; WARP_LANES], lanes);
            }
        };
        same(&mut self.site, place::SITE, group.site.0);
        same(&mut self.cta, place::CTA, group.cta);
        same(&mut self.warp, place::WARP, group.warp);
        same(&mut self.sm, place::SM, group.sm);
        same(&mut self.width_bytes, place::WIDTH, group.width_bytes);
        if self.wanted[place::OP] {
            append(&mut self.op, &[op.code() as i8 - 1; WARP_LANES], lanes);
        }
        if self.wanted[place::LANE] {
            append(&mut self.lane, &lanes_of(group.mask), lanes);
        }
        if self.wanted[place::ADDRESS] {
            append(&mut self.address, &group.addresses, lanes);
        }
        if self.wanted[place::ALLOCATION] || self.wanted[place::OFFSET] {
            self.place(group, resolver);
        }
        self.rows += lanes;
    }

    /// Allocations and offsets of a group's addresses; usually all lie in one allocation.
    #[inline]
    fn place(&mut self, group: &AccessGroup, resolver: &mut Resolver) {
        let lanes = group.lanes();
        let (mut ids, mut offsets) = ([0; WARP_LANES], [0; WARP_LANES]);
        let first = group.active_addresses().first();
        let first = first.and_then(|&address| resolver.find(address));
        if let Some(first) = first {
            ids = [u64::from(first.id.0); WARP_LANES];
            offsets = group.addresses.map(|at| at.wrapping_sub(first.address));
        }
        let is_inside =
            |first: &Allocation| offsets[..lanes].iter().all(|&offset| offset < first.bytes);
        if !first.is_some_and(is_inside) {
            for (lane, &address) in group.active_addresses().iter().enumerate() {
                (ids[lane], offsets[lane]) = match resolver.find(address) {
                    Some(found) => (u64::from(found.id.0), address - found.address),
                    None => {
                        self.holes.push(self.rows + lane);
                        (0, 0)
                    }
                };
            }
        }
        if self.wanted[place::ALLOCATION] {
            append(&mut self.allocation, &ids, lanes);
        }
        if self.wanted[place::OFFSET] {
            append(&mut self.offset, &offsets, lanes);
        }
    }

    pub fn arrays(
        self,
        launch: &ArrayRef,
        dictionary: &ArrayRef,
        wanted: &[usize],
    ) -> Vec<ArrayRef> {
        let rows = self.rows;
        let nulls = (!self.holes.is_empty()).then(|| {
            let mut is_there = vec![true; rows];
            self.holes.iter().for_each(|&row| is_there[row] = false);
            is_there
        });
        let optional = |values: Vec<u64>| -> ArrayRef {
            let nulls = nulls.clone().map(Into::into);
            Arc::new(UInt64Array::new(values.into(), nulls))
        };
        let number = |values: Vec<u32>| -> ArrayRef { Arc::new(UInt32Array::from(values)) };
        let op = Int8Array::from(self.op);
        let op = DictionaryArray::<Int8Type>::new(op, dictionary.clone());
        let all: [ArrayRef; place::ALL] = [
            launch.slice(0, rows),
            number(self.site),
            Arc::new(op),
            number(self.cta),
            number(self.warp),
            number(self.lane),
            number(self.sm),
            number(self.width_bytes),
            Arc::new(UInt64Array::from(self.address)),
            if self.wanted[place::ALLOCATION] {
                optional(self.allocation)
            } else {
                launch.slice(0, 0)
            },
            if self.wanted[place::OFFSET] {
                optional(self.offset)
            } else {
                launch.slice(0, 0)
            },
        ];
        wanted.iter().map(|&place| all[place].clone()).collect()
    }
}

/// The active lanes' numbers without gaps.
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
