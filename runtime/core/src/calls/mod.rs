//! Proprietary library functions with known reads and writes.

mod table;

use std::ffi::c_int;
use superstep_trace::{Block, KnownCall};

enum Access {
    Reads(usize, Shape),
    Writes(usize, Shape),
    /// Memory that any later call may write to.
    Lends(usize, Shape),
}

enum Shape {
    /// Column-major matrices: the numbers of rows and columns, the argument with the distance between columns in
    /// elements (negative for a vector that is read backwards), the argument with the elements' `cudaDataType` (`None` for
    /// the function's own type), the number of matrices, and the distance between matrices in elements.
    Matrices([Number; 2], usize, Option<usize>, [Number; 2]),
    /// A contiguous range, whose size in bytes this argument contains.
    Bytes(usize),
    Allocation,
}

#[derive(Clone, Copy)]
enum Number {
    Fixed(i64),
    Argument(usize),
    /// The second argument, or the third if the first requests a transpose.
    Either(usize, usize, usize),
}

impl Number {
    fn value(self, arguments: &[usize]) -> i64 {
        let argument = match self {
            Number::Fixed(number) => return number,
            Number::Argument(argument) => argument,
            // `CUBLAS_OP_N`
            Number::Either(operation, plain, _) if arguments[operation] as c_int == 0 => plain,
            Number::Either(.., other) => other,
        };
        arguments[argument] as i64
    }
}

pub struct Function {
    name: &'static str,
    accesses: &'static [Access],
    bytes: u64,
}

pub fn function(name: &str) -> Option<&'static Function> {
    table::FUNCTIONS
        .iter()
        .find(|function| function.name == name)
}

impl Function {
    /// Returns the memory that a call reads, writes and lends, or `None` if the arguments do not determine it. `arguments`
    /// are pointers and sign-extended integers; `allocation_of` returns the start and size of the allocation that contains
    /// an address.
    pub fn known(
        &self,
        arguments: &[usize],
        allocation_of: impl Fn(u64) -> Option<(u64, u64)>,
    ) -> Option<(KnownCall, Vec<Block>)> {
        let mut lent = Vec::new();
        let mut call = KnownCall {
            function: self.name.to_owned(),
            reads: Vec::new(),
            writes: Vec::new(),
        };
        for access in self.accesses {
            let (into, pointer, shape) = match access {
                Access::Reads(pointer, shape) => (&mut call.reads, *pointer, shape),
                Access::Writes(pointer, shape) => (&mut call.writes, *pointer, shape),
                Access::Lends(pointer, shape) => (&mut lent, *pointer, shape),
            };
            let block = self.block(arguments, arguments[pointer] as u64, shape, &allocation_of)?;
            if block.bytes > 0 && block.rows > 0 && block.planes > 0 {
                into.push(block);
            }
        }
        Some((call, lent))
    }

    fn block(
        &self,
        arguments: &[usize],
        address: u64,
        shape: &Shape,
        allocation_of: impl Fn(u64) -> Option<(u64, u64)>,
    ) -> Option<Block> {
        let whole = |address, bytes| Block {
            address,
            bytes,
            rows: 1,
            row_pitch: 0,
            planes: 1,
            plane_pitch: 0,
        };
        match shape {
            Shape::Bytes(bytes) => Some(whole(address, arguments[*bytes] as u64)),
            Shape::Allocation => allocation_of(address).map(|(start, bytes)| whole(start, bytes)),
            Shape::Matrices([rows, columns], leading, element, [count, stride]) => {
                let size = match element {
                    None => self.bytes,
                    Some(argument) => bytes_of(arguments[*argument] as c_int)?,
                };
                let amount = |number: &Number| u64::try_from(number.value(arguments)).unwrap_or(0);
                let leading = arguments[*leading] as i64;
                Some(Block {
                    address,
                    bytes: amount(rows).saturating_mul(size),
                    rows: amount(columns),
                    row_pitch: leading.unsigned_abs().saturating_mul(size),
                    planes: amount(count),
                    plane_pitch: amount(stride).saturating_mul(size),
                })
            }
        }
    }
}

/// Returns the size of a `cudaDataType`; `None` if it is smaller than a byte or unknown.
fn bytes_of(kind: c_int) -> Option<u64> {
    Some(match kind {
        3 | 8 | 28..=30 => 1,                // 8-bit integers and floats
        2 | 14 | 20 | 22 => 2,               // half, bfloat16, 16-bit integers
        7 | 9 => 2,                          // pairs of bytes
        0 | 6 | 15 | 10 | 12 | 21 | 23 => 4, // float, pairs of the above, 32-bit integers
        1 | 4 | 11 | 13 | 24 | 26 => 8,      // double, complex float, 64-bit integers and pairs
        5 | 25 | 27 => 16,                   // complex double, pairs of 64-bit integers
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
