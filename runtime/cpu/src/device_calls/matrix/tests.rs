//! Compares the results of a warp's matrix operations with those of plain loops, and layouts with the PTX manual.

use super::*;
use half::{bf16, f16};
use proptest::prelude::*;
use superstep_trace::matrix::{Product, Shape};

/// The registers of a warp, and an address for each lane.
struct Warp {
    registers: [[u32; REGISTERS]; 32],
    addresses: [u64; 32],
    stride: u64,
}

impl Warp {
    fn new() -> Self {
        Warp {
            registers: [[0; REGISTERS]; 32],
            addresses: [0; 32],
            stride: 0,
        }
    }

    fn run(&mut self, operation: MatrixOperation) {
        let addresses = self.addresses;
        let mut place = 0;
        let lanes = self.registers.each_mut().map(|registers| {
            place += 1;
            Lane {
                registers,
                address: addresses[place - 1],
                stride: self.stride,
            }
        });
        run(operation.code(), &lanes.each_ref());
    }

    /// Loads a matrix into the registers of its part.
    fn load(&mut self, tile: Tile, memory: &Memory) {
        let before = self.registers;
        self.addresses = [memory.bytes.as_ptr() as u64; 32];
        self.stride = memory.stride as u64;
        self.run(MatrixOperation::Load(tile));
        for (now, before) in self.registers.iter_mut().zip(before) {
            let loaded = *now;
            *now = before;
            let first = tile.part.first_register();
            now[first..first + 16].copy_from_slice(&loaded[..16]);
        }
    }
}

/// A matrix in memory with padding after each line.
struct Memory {
    bytes: Vec<u8>,
    stride: usize,
    tile: Tile,
}

impl Memory {
    fn new(tile: Tile) -> Self {
        // For 1-bit and 4-bit elements, the stride must be a multiple of 32 elements.
        let stride = tile.line() as usize + (64 / tile.element.bits() as usize).max(3);
        let stride = match tile.element.bits() < 8 {
            true => stride.next_multiple_of(32),
            false => stride,
        };
        let (rows, columns) = tile.shape.extent(tile.part);
        let lines = if tile.by_columns { columns } else { rows } as usize;
        Memory {
            bytes: vec![0xa5; lines * stride * tile.element.bits() as usize / 8 + 8],
            stride,
            tile,
        }
    }

    /// Returns the index of an element's first bit.
    fn bit(&self, row: u32, column: u32) -> usize {
        let (line, inside) = match self.tile.by_columns {
            true => (column, row),
            false => (row, column),
        };
        (line as usize * self.stride + inside as usize) * self.tile.element.bits() as usize
    }

    fn get(&self, row: u32, column: u32) -> u64 {
        let (bits, first) = (self.tile.element.bits() as usize, self.bit(row, column));
        let bit =
            |index: usize| u64::from(self.bytes[(first + index) / 8] >> ((first + index) % 8) & 1);
        (0..bits).fold(0, |value, index| value | bit(index) << index)
    }

    fn set(&mut self, row: u32, column: u32, value: u64) {
        let (bits, first) = (self.tile.element.bits() as usize, self.bit(row, column));
        for index in 0..bits {
            let (byte, place) = ((first + index) / 8, (first + index) % 8);
            self.bytes[byte] &= !(1 << place);
            self.bytes[byte] |= ((value >> index & 1) as u8) << place;
        }
    }
}

/// Returns a matrix element that is small enough for sums of products to be exact.
fn number(element: Element, seed: u64) -> (u64, f64) {
    let small = (seed % 9) as f64 / 4.0 - 1.0;
    match element {
        Element::F16 => (f16::from_f64(small).to_bits().into(), small),
        Element::Bf16 => (bf16::from_f64(small).to_bits().into(), small),
        // Bits that tf32 lacks are ignored.
        Element::Tf32 => (u64::from((small as f32).to_bits()) | 0x1fff & seed, small),
        Element::F32 => (u64::from((small as f32).to_bits()), small),
        Element::F64 => (small.to_bits(), small),
        Element::S32 => (u64::from(seed as u32), f64::from(seed as i32)),
        Element::S8 => (seed & 0xff, f64::from(seed as i8)),
        Element::U8 => (seed & 0xff, f64::from(seed as u8)),
        Element::S4 => (seed & 15, f64::from((seed << 4) as i8 >> 4)),
        Element::U4 => (seed & 15, f64::from(seed as u8 & 15)),
        Element::B1 => (seed & 1, (seed & 1) as f64),
    }
}

/// Returns the value of an element of D.
fn value(element: Element, bits: u64) -> f64 {
    match element {
        Element::F16 => f16::from_bits(bits as u16).to_f64(),
        Element::F32 => f32::from_bits(bits as u32).into(),
        Element::F64 => f64::from_bits(bits),
        _ => f64::from(bits as u32 as i32),
    }
}

fn products() -> impl Strategy<Value = Product> {
    use Element::*;
    let types = prop::sample::select(vec![
        (
            [F16, F16, F32, F32],
            vec![
                (16, 16, 16),
                (32, 8, 16),
                (8, 32, 16),
                (16, 8, 8),
                (16, 8, 16),
            ],
        ),
        (
            [F16, F16, F16, F16],
            vec![(16, 16, 16), (32, 8, 16), (8, 32, 16), (16, 8, 8)],
        ),
        ([F16, F16, F32, F16], vec![(16, 16, 16)]),
        (
            [Bf16, Bf16, F32, F32],
            vec![(16, 16, 16), (32, 8, 16), (8, 32, 16), (16, 8, 16)],
        ),
        (
            [Tf32, Tf32, F32, F32],
            vec![(16, 16, 8), (16, 8, 4), (16, 8, 8)],
        ),
        (
            [F64; 4],
            vec![(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)],
        ),
        (
            [S8, S8, S32, S32],
            vec![(16, 16, 16), (32, 8, 16), (8, 32, 16), (16, 8, 32)],
        ),
        ([U8, S8, S32, S32], vec![(8, 8, 16), (16, 8, 16)]),
        ([S4, U4, S32, S32], vec![(8, 8, 32), (16, 8, 64)]),
        ([B1, B1, S32, S32], vec![(8, 8, 128), (16, 8, 256)]),
    ]);
    (types, any::<prop::sample::Index>(), any::<[bool; 2]>()).prop_map(
        |(([a, b, c, d], shapes), index, [is_xor, saturates])| {
            let (m, n, k) = *index.get(&shapes);
            Product {
                shape: Shape { m, n, k },
                a,
                b,
                c,
                d,
                is_xor,
                saturates: saturates && c == S32,
            }
        },
    )
}

proptest! {
    /// Compares D with plain loops, for every layout in memory. Sums are exact, so their order does not matter.
    #[test]
    fn products_equal_plain_loops(product in products(), by_columns: [bool; 4], seed: u64) {
        let Shape { m, n, k } = product.shape;
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state >> 29
        };
        let mut warp = Warp::new();
        let parts = [(Part::A, product.a), (Part::B, product.b), (Part::C, product.c)];
        let mut matrices = Vec::new();
        for ((part, element), by_columns) in parts.into_iter().zip(by_columns) {
            let by_columns = if element.bits() < 8 { part == Part::B } else { by_columns };
            let mut memory = Memory::new(Tile { shape: product.shape, part, element, by_columns });
            let (rows, columns) = product.shape.extent(part);
            let mut values = vec![vec![0.0; columns as usize]; rows as usize];
            for row in 0..rows {
                for column in 0..columns {
                    let (bits, value) = number(element, random());
                    memory.set(row, column, bits);
                    prop_assert_eq!(memory.get(row, column), bits);
                    values[row as usize][column as usize] = value;
                }
            }
            warp.load(memory.tile, &memory);
            matrices.push(values);
        }
        warp.run(MatrixOperation::Multiply(product));
        let mut result = Memory::new(Tile { shape: product.shape, part: Part::C, element: product.d, by_columns: by_columns[3] });
        let untouched = result.bytes.len() - (m * n * product.d.bits() / 8) as usize;
        warp.addresses = [result.bytes.as_mut_ptr() as u64; 32];
        warp.stride = result.stride as u64;
        warp.run(MatrixOperation::Store(result.tile));
        for row in 0..m {
            for column in 0..n {
                let (i, j) = (row as usize, column as usize);
                let terms = (0..k as usize).map(|x| {
                    let (a, b) = (matrices[0][i][x], matrices[1][x][j]);
                    match product.a {
                        Element::B1 if product.is_xor => f64::from(a != b),
                        _ => a * b,
                    }
                });
                let sum = terms.sum::<f64>() + matrices[2][i][j];
                let expected = match product.d {
                    Element::S32 if product.saturates => f64::from(sum as i32),
                    Element::S32 => f64::from(sum as i64 as i32),
                    Element::F16 => f16::from_f64(sum).to_f64(),
                    _ => sum,
                };
                prop_assert_eq!(value(product.d, result.get(row, column)), expected, "{} {}", row, column);
            }
        }
        let filler = result.bytes.iter().filter(|byte| **byte == 0xa5).count();
        prop_assert!(filler >= untouched, "only the matrix is written");
    }

    /// Each lane loads two adjacent elements of a row or column, and stores them back unchanged.
    #[test]
    fn rows_are_loaded_and_stored_back_unchanged(matrices in prop::sample::select(vec![1u32, 2, 4]), transposed: bool, seed: u16) {
        let memory: Vec<u16> = (0..32 * 16).map(|n: u16| n.wrapping_mul(40503).wrapping_add(seed)).collect();
        let rows = Rows { matrices, transposed };
        let mut warp = Warp::new();
        // Rows are in reverse order, with gaps.
        let row = |lane: usize| 16 * (31 - lane);
        for lane in 0..32 {
            warp.addresses[lane] = &raw const memory[row(lane)] as u64;
        }
        warp.run(MatrixOperation::LoadRows(rows));
        for lane in 0..32 {
            for matrix in 0..matrices as usize {
                let number = |i: usize, j: usize| u32::from(memory[row(matrix * 8 + i) + j]);
                let (long, short) = (lane / 4, lane % 4 * 2);
                let expected = match transposed {
                    false => number(long, short) | number(long, short + 1) << 16,
                    true => number(short, long) | number(short + 1, long) << 16,
                };
                prop_assert_eq!(warp.registers[lane][matrix], expected);
            }
        }
        let mut copy = vec![0u16; 32 * 16];
        for lane in 0..32 {
            warp.addresses[lane] = &raw mut copy[row(lane)] as u64;
        }
        warp.run(MatrixOperation::StoreRows(rows));
        for lane in 0..32 {
            let used = if lane < 8 * matrices as usize { 8 } else { 0 };
            prop_assert_eq!(&copy[row(lane)..row(lane) + used], &memory[row(lane)..row(lane) + used]);
            prop_assert!(copy[row(lane) + used..row(lane) + 16].iter().all(|n| *n == 0));
        }
    }
}

/// Position of a lane's element `i` according to the PTX manual, given the group, the thread in the group, and `i`.
type Position = fn(u32, u32, u32) -> (u32, u32);

/// A shape, a part, its element type, the number of elements per lane, and their positions.
type Case = ((u32, u32, u32), Part, Element, u32, Position);

#[test]
fn fragments_have_the_layout_in_the_ptx_manual() {
    use Element::*;
    let cases: &[Case] = &[
        ((16, 8, 8), Part::A, F16, 4, |g, t, i| {
            (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
        }),
        ((16, 8, 8), Part::B, F16, 2, |g, t, i| (t * 2 + i, g)),
        ((16, 8, 8), Part::C, F16, 4, |g, t, i| {
            (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
        }),
        ((16, 8, 16), Part::A, Bf16, 8, |g, t, i| {
            let row = if i < 2 || (4..6).contains(&i) {
                g
            } else {
                g + 8
            };
            (row, t * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
        }),
        ((16, 8, 16), Part::B, F16, 4, |g, t, i| {
            (t * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, g)
        }),
        ((16, 8, 16), Part::C, F32, 4, |g, t, i| {
            (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
        }),
        ((16, 8, 4), Part::A, Tf32, 2, |g, t, i| {
            (if i == 0 { g } else { g + 8 }, t)
        }),
        ((16, 8, 8), Part::A, Tf32, 4, |g, t, i| {
            (
                if i % 2 == 0 { g } else { g + 8 },
                if i < 2 { t } else { t + 4 },
            )
        }),
        ((16, 8, 8), Part::B, Tf32, 2, |g, t, i| {
            (if i == 0 { t } else { t + 4 }, g)
        }),
        ((8, 8, 4), Part::A, F64, 1, |g, t, _| (g, t)),
        ((8, 8, 4), Part::B, F64, 1, |g, t, _| (t, g)),
        ((8, 8, 4), Part::C, F64, 2, |g, t, i| (g, t * 2 + i)),
        ((16, 8, 16), Part::A, F64, 8, |g, t, i| {
            (if i % 2 == 0 { g } else { g + 8 }, i * 2 + t - (i % 2) * 2)
        }),
        ((16, 8, 16), Part::B, F64, 4, |g, t, i| (t + i * 4, g)),
        ((8, 8, 16), Part::A, S8, 4, |g, t, i| (g, t * 4 + i)),
        ((16, 8, 32), Part::A, U8, 16, |g, t, i| {
            let row = if i < 4 || (8..12).contains(&i) {
                g
            } else {
                g + 8
            };
            (row, t * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
        }),
        ((16, 8, 32), Part::B, S8, 8, |g, t, i| {
            (t * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, g)
        }),
        ((16, 8, 32), Part::C, S32, 4, |g, t, i| {
            (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
        }),
    ];
    for &((m, n, k), part, element, numbers, expected_position) in cases {
        let layout = Layout::of(Shape { m, n, k }, part, element);
        assert_eq!(layout.units * layout.numbers, numbers);
        for lane in 0..32 {
            for i in 0..numbers {
                let (row, column) = layout.position(lane, i / layout.numbers);
                let next = i % layout.numbers;
                let position = match layout.follow_in_row() {
                    true => (row, column + next),
                    false => (row + next, column),
                };
                let expected = expected_position(lane / 4, lane % 4, i);
                assert_eq!(
                    position, expected,
                    "m{m}n{n}k{k} {part:?} {element} lane {lane}, {i}"
                );
            }
        }
    }
}

#[test]
fn nan_results_are_canonical() {
    let shape = Shape { m: 16, n: 8, k: 16 };
    let mut product = Product {
        shape,
        a: Element::F16,
        b: Element::F16,
        c: Element::F16,
        d: Element::F16,
        is_xor: false,
        saturates: false,
    };
    let mut warp = Warp::new();
    // The first lane has infinity and a NaN in row 0 of C, and 60000 + 60000 in row 8.
    let c = Part::C.first_register();
    warp.registers[0][c] = 0xfe01_7c00;
    warp.registers[0][c + 1] = u32::from(f16::from_f32(60000.0).to_bits());
    warp.registers[0][1] = u32::from(f16::from_f32(60000.0).to_bits());
    warp.registers[0][Part::B.first_register()] = u32::from(f16::ONE.to_bits());
    let before = warp.registers;
    warp.run(MatrixOperation::Multiply(product));
    assert_eq!(warp.registers[0][..2], [0x7fff_7c00, 0x7c00]);
    warp.registers = before;
    product.saturates = true;
    warp.run(MatrixOperation::Multiply(product));
    assert_eq!(warp.registers[0][..2], [0x0000_7bff, 0x7bff]);
}
