//! The frame of a CTA: what its threads keep from one region to the next.
//!
//! Each variable is an array with an element for every thread, one behind the other; the first is the region that each
//! thread goes on with, 32 bits.

use super::body::Ids;
use crate::ir::{Builder, Opcode, Type, Value, traits::*};
use superstep_abi::cpu::FRAME_THREADS_UNIT;

/// The number of threads for which a frame has room is a multiple of this, so that every array is aligned for vectors.
const THREADS_UNIT: u64 = FRAME_THREADS_UNIT as u64;

/// Where a variable lies: behind so many bytes for each thread.
#[derive(Clone, Copy)]
pub struct Place {
    before_bytes: u64,
    element_bytes: u64,
}

pub struct Layout {
    used_bytes: u64,
}

impl Layout {
    /// With the threads' next regions only.
    pub fn new() -> Self {
        Layout { used_bytes: 4 }
    }

    /// An array of elements of so many bytes, which start at multiples of `alignment_bytes`, a power of two.
    pub fn place(&mut self, bytes: u64, alignment_bytes: u64) -> Place {
        let element_bytes = bytes.next_multiple_of(alignment_bytes.max(1));
        // The number of threads is a multiple of 64: alignments beyond that have to come from the bytes before.
        let coarse = (alignment_bytes / THREADS_UNIT).max(1);
        let before_bytes = self.used_bytes.next_multiple_of(coarse);
        self.used_bytes = before_bytes + element_bytes;
        Place {
            before_bytes,
            element_bytes,
        }
    }

    /// Bytes of a frame for each thread.
    pub fn bytes(&self) -> u64 {
        self.used_bytes
    }
}

/// The frame as code of one region sees it.
pub struct Frame<'m> {
    base: Value<'m>,
    /// Threads that the frame has room for, 64 bits.
    capacity: Value<'m>,
    /// Number of the thread, 64 bits.
    thread: Value<'m>,
}

impl<'m> Frame<'m> {
    /// Computes what every address needs.
    pub fn new(builder: &Builder<'m>, ids: &Ids<'m>) -> Self {
        let i64t = Type::int(64);
        let wide = |value| builder.cast(Opcode::ZExt, value, i64t);
        let rows = builder.binary(Opcode::Mul, wide(ids.ntid[1]), wide(ids.ntid[2]));
        let threads = builder.binary(Opcode::Mul, wide(ids.ntid[0]), rows);
        let more = builder.binary(Opcode::Add, threads, i64t.constant(THREADS_UNIT - 1));
        let capacity = builder.binary(Opcode::And, more, i64t.constant(!(THREADS_UNIT - 1)));
        Frame {
            base: ids.frame,
            capacity,
            thread: wide(ids.thread),
        }
    }

    /// Address of the thread's element.
    pub fn address(&self, builder: &Builder<'m>, place: Place) -> Value<'m> {
        let times =
            |value, bytes| builder.binary(Opcode::Mul, value, Type::int(64).constant(bytes));
        let array = builder.offset_by(self.base, times(self.capacity, place.before_bytes));
        builder.offset_by(array, times(self.thread, place.element_bytes))
    }
}
