//! Distribution of a matrix over lanes.

use superstep_trace::matrix::{Element, Part, Shape};

/// Assignment of a matrix's elements to lanes, as in the PTX manual for `mma`: blocks of 8 rows, four lanes per row.
/// The manual does not specify the layout for `wmma`; here, more blocks of 8 columns follow. Elements with fewer than
/// 8 bits are packed into registers.
pub struct Layout {
    part: Part,
    /// Binary logarithm of the number of blocks; a block has 8 rows (A, C) or four lanes' registers along k (B).
    blocks_log2: u32,
    /// Elements per register.
    pub numbers: u32,
    /// Registers per lane; a 64-bit pair counts once.
    pub units: u32,
    pub bits: u32,
}

impl Layout {
    pub fn of(mut shape: Shape, part: Part, element: Element) -> Self {
        let mut bits = element.bits();
        if bits < 8 {
            shape.k = shape.k * bits / 32;
            bits = 32;
        }
        let numbers = (32 / bits).max(1);
        let (rows, columns) = shape.extent(part);
        Layout {
            part,
            blocks_log2: match part {
                Part::A | Part::C => shape.m / 8,
                Part::B => shape.k / (4 * numbers),
            }
            .trailing_zeros(),
            numbers,
            units: rows * columns / (32 * numbers),
            bits,
        }
    }

    /// Returns the row and column of the first element in a lane's register.
    pub fn position(&self, lane: u32, unit: u32) -> (u32, u32) {
        let (group, member) = (lane / 4, lane % 4);
        let split = |number: u32| {
            let outer = number >> self.blocks_log2;
            (number - (outer << self.blocks_log2), outer)
        };
        let (block, outer) = split(unit);
        let along = |block: u32| (block * 4 + member) * self.numbers;
        match self.part {
            Part::A => (group + 8 * block, along(outer)),
            Part::B => (along(block), group + 8 * outer),
            Part::C => {
                // Two adjacent elements of a row, in one or two registers.
                let number = unit * self.numbers;
                let (block, outer) = split(number / 2);
                (group + 8 * block, 8 * outer + 2 * member + number % 2)
            }
        }
    }

    /// Returns whether the elements in a register are neighbours in a row rather than in a column.
    pub fn follow_in_row(&self) -> bool {
        self.part != Part::B
    }
}
