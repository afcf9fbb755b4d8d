//! The frame of a CTA, which keeps its threads' values from one region to the next. It consists of one array per
//! variable, with one element per thread. The first array contains the region in which each thread resumes (32 bits).

use super::body::Ids;
use crate::ir::{Builder, Opcode, Type, Value, traits::*};
use superstep_abi::cpu::FRAME_THREADS_UNIT;

const THREADS_UNIT: u64 = FRAME_THREADS_UNIT as u64;

#[derive(Clone, Copy)]
pub struct Place {
    before_bytes: u64,
    element_bytes: u64,
}

pub struct Layout {
    pub used_bytes: u64,
}

impl Layout {
    /// The array of regions.
    pub const EMPTY: Self = Layout { used_bytes: 4 };

    /// Adds an array with elements of `bytes` bytes, aligned to `alignment_bytes`, a power of two.
    pub fn place(&mut self, bytes: u64, alignment_bytes: u64) -> Place {
        let element_bytes = bytes.next_multiple_of(alignment_bytes.max(1));
        // The number of threads is a multiple of 64; larger alignments depend on preceding arrays.
        let unit_bytes = (alignment_bytes / THREADS_UNIT).max(1);
        let before_bytes = self.used_bytes.next_multiple_of(unit_bytes);
        self.used_bytes = before_bytes + element_bytes;
        Place {
            before_bytes,
            element_bytes,
        }
    }
}

pub struct Frame<'m> {
    base: Value<'m>,
    /// Number of threads for which the frame has room (64 bits).
    capacity: Value<'m>,
    thread: Value<'m>,
}

impl<'m> Frame<'m> {
    pub fn new(builder: &Builder<'m>, ids: &Ids<'m>) -> Self {
        let i64t = Type::int(64);
        let wide = |value| builder.cast(Opcode::ZExt, value, i64t);
        let [width, height, depth] = ids.groups[1];
        let rows = builder.binary(Opcode::Mul, wide(height), wide(depth));
        let threads = builder.binary(Opcode::Mul, wide(width), rows);
        let padded = builder.binary(Opcode::Add, threads, i64t.constant(THREADS_UNIT - 1));
        let capacity = builder.binary(Opcode::And, padded, i64t.constant(!(THREADS_UNIT - 1)));
        Frame {
            base: ids.frame,
            capacity,
            thread: wide(ids.thread),
        }
    }

    pub fn address(&self, builder: &Builder<'m>, place: Place) -> Value<'m> {
        let scale =
            |value, bytes| builder.binary(Opcode::Mul, value, Type::int(64).constant(bytes));
        let array = builder.offset_by(self.base, scale(self.capacity, place.before_bytes));
        builder.offset_by(array, scale(self.thread, place.element_bytes))
    }
}
