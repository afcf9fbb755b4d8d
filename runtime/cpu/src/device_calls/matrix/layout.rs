//! Which lane keeps which number of a matrix.

use superstep_trace::matrix::{Element, Part, Shape};

/// How the lanes of a warp keep a matrix, as the PTX manual says for `mma`: blocks of 8 rows, of which each row belongs to four
/// lanes. (It leaves open how `wmma` does; there, further blocks of 8 columns follow.) Numbers of less than 8 bits are taken
/// together here, as many as a register holds.
pub struct Layout {
    part: Part,
    /// Blocks of 8 rows of A and C, of what four lanes hold next to each other along k of B: the exponent of this power of two.
    blocks_log2: u32,
    /// Numbers in a register.
    pub numbers: u32,
    /// Registers of a lane; those of 64 bits count once.
    pub units: u32,
    /// Of a number.
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

    /// Row and column of the first number in a register of a lane.
    pub fn position(&self, lane: u32, unit: u32) -> (u32, u32) {
        let (group, member) = (lane / 4, lane % 4);
        let split = |number: u32| {
            let further = number >> self.blocks_log2;
            (number - (further << self.blocks_log2), further)
        };
        let (block, further) = split(unit);
        let along = |block: u32| (block * 4 + member) * self.numbers;
        match self.part {
            Part::A => (group + 8 * block, along(further)),
            Part::B => (along(block), group + 8 * further),
            Part::C => {
                // Two neighbours in a row, in one register or in two.
                let number = unit * self.numbers;
                let (block, further) = split(number / 2);
                (group + 8 * block, 8 * further + 2 * member + number % 2)
            }
        }
    }

    /// Whether the other numbers of a register follow in a row; else in a column.
    pub fn follow_in_row(&self) -> bool {
        self.part != Part::B
    }
}
