//! Warp-level matrix operations (tensor cores), which the instrumenter finds and the CPU runtime executes.

use crate::program::access::WARP_LANES;

crate::named! {
    /// Element type of a matrix.
    pub enum Element("matrix element type") {
        F16 => "f16",
        Bf16 => "bf16",
        Tf32 => "tf32",
        F32 => "f32",
        F64 => "f64",
        S8 => "s8",
        U8 => "u8",
        S4 => "s4",
        U4 => "u4",
        B1 => "b1",
        S32 => "s32",
    }
}

impl Element {
    pub const fn bits(self) -> u32 {
        match self {
            Element::B1 => 1,
            Element::S4 | Element::U4 => 4,
            Element::S8 | Element::U8 => 8,
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 | Element::S32 => 32,
            Element::F64 => 64,
        }
    }
}

/// Number of 32-bit registers in which a lane passes its part of the matrices to the CPU runtime. The result starts in
/// the first of them.
pub const REGISTERS: usize = 48;

/// Operand of D = A · B + C; C also represents D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    A,
    B,
    C,
}

impl Part {
    pub const fn first_register(self) -> usize {
        16 * self as usize
    }
}

/// Size of an operation: A is m × k, B is k × n, and C is m × n; m, k and n are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

impl Shape {
    /// Parses a shape such as `m16n8k16`.
    pub fn of(word: &str) -> Option<Self> {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        let number = |text: &str| {
            let number: u32 = text.parse().ok()?;
            (number.is_power_of_two() && (4..=256).contains(&number)).then_some(number)
        };
        let (m, n, k) = (number(m)?, number(n)?, number(k)?);
        ([8, 16, 32].contains(&m) && [8, 16, 32].contains(&n)).then_some(Shape { m, n, k })
    }

    pub fn extent(self, part: Part) -> (u32, u32) {
        match part {
            Part::A => (self.m, self.k),
            Part::B => (self.k, self.n),
            Part::C => (self.m, self.n),
        }
    }

    /// Returns the number of 32-bit registers that each lane needs for a part.
    pub fn registers(self, part: Part, element: Element) -> u32 {
        let (rows, columns) = self.extent(part);
        rows * columns * element.bits() / (32 * WARP_LANES as u32)
    }
}

/// A matrix in memory, stored in lines (rows or columns) with a stride. All lanes of the warp pass the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub shape: Shape,
    pub part: Part,
    pub element: Element,
    /// Whether the lines are columns.
    pub by_columns: bool,
}

impl Tile {
    /// Returns the number of elements in a line.
    pub fn line(self) -> u32 {
        let (rows, columns) = self.shape.extent(self.part);
        if self.by_columns { rows } else { columns }
    }

    pub fn line_bytes(self) -> u32 {
        self.line() * self.element.bits() / 8
    }

    /// Returns the number of bytes attributed to each lane: consecutive pieces of the lines.
    pub fn piece_bytes(self) -> u32 {
        4 * self.shape.registers(self.part, self.element)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    pub shape: Shape,
    pub a: Element,
    pub b: Element,
    pub c: Element,
    pub d: Element,
    /// For 1-bit elements: whether they are combined with XOR instead of AND.
    pub is_xor: bool,
    /// Whether sums are saturated.
    pub saturates: bool,
}

/// Matrices in shared memory, each with eight 16-byte rows. The lanes pass the addresses of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// 1, 2 or 4.
    pub matrices: u32,
    pub transposed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOperation {
    Load(Tile),
    Store(Tile),
    Multiply(Product),
    LoadRows(Rows),
    StoreRows(Rows),
}

impl MatrixOperation {
    /// Encodes the operation as a number, which the instrumented program passes to the CPU runtime.
    pub fn code(self) -> u64 {
        let logs = |s: Shape| [s.m, s.n, s.k].map(|extent| extent.trailing_zeros() as u8);
        let tile = |kind, tile: Tile| {
            let [m, n, k] = logs(tile.shape);
            let element = tile.element as u8;
            let (part, by_columns) = (tile.part as u8, u8::from(tile.by_columns));
            [kind, m, n, k, element, part, by_columns, 0]
        };
        let rows = |kind, rows: Rows| {
            let transposed = u8::from(rows.transposed);
            [kind, rows.matrices as u8, transposed, 0, 0, 0, 0, 0]
        };
        u64::from_le_bytes(match self {
            Self::Load(it) => tile(0, it),
            Self::Store(it) => tile(1, it),
            Self::Multiply(it) => {
                let [m, n, k] = logs(it.shape);
                let [a, b, c, d] = [it.a, it.b, it.c, it.d].map(|element| element as u8);
                let flags = u8::from(it.is_xor) | u8::from(it.saturates) << 1;
                [2, m, n, k, a, b, c << 4 | d, flags]
            }
            Self::LoadRows(it) => rows(3, it),
            Self::StoreRows(it) => rows(4, it),
        })
    }

    /// Decodes a number from [`code`](Self::code).
    pub fn from_code(code: u64) -> Option<Self> {
        let [kind, first, second, third, rest @ ..] = code.to_le_bytes();
        let element = |number: u8| Element::ALL.get(usize::from(number)).copied();
        let extent = |log: u8| 1u32.checked_shl(u32::from(log));
        let shape = || {
            let (m, n, k) = (extent(first)?, extent(second)?, extent(third)?);
            Some(Shape { m, n, k })
        };
        let tile = || {
            let part = [Part::A, Part::B, Part::C].get(usize::from(rest[1]));
            Some(Tile {
                shape: shape()?,
                part: *part?,
                element: element(rest[0])?,
                by_columns: rest[2] != 0,
            })
        };
        let rows = Rows {
            matrices: u32::from(first),
            transposed: second != 0,
        };
        Some(match kind {
            0 => Self::Load(tile()?),
            1 => Self::Store(tile()?),
            2 => Self::Multiply(Product {
                shape: shape()?,
                a: element(rest[0])?,
                b: element(rest[1])?,
                c: element(rest[2] >> 4)?,
                d: element(rest[2] & 15)?,
                is_xor: rest[3] & 1 != 0,
                saturates: rest[3] & 2 != 0,
            }),
            3 => Self::LoadRows(rows),
            4 => Self::StoreRows(rows),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
