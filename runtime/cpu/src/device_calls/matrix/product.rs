//! D = A · B + C.
//!
//! For each element of D, the products are added to C one by one, in order of k. Integer arithmetic is exact. In single
//! precision, each product is exact unless it overflows or underflows, and each sum is rounded to nearest;
//! half-precision results are rounded once, at the end. In double precision, each step is a fused multiply-add.

use super::Lanes;
use super::layout::Layout;
use half::{bf16, f16};
use superstep_trace::matrix::{Element, Part, Product};

/// Maximum number of elements in a matrix: four in each of eight registers, in each of 32 lanes.
const MAX_ELEMENTS: usize = 1024;

/// Collects the elements in the lanes' registers, in row-major order.
fn gather<T: Copy>(
    product: Product,
    part: Part,
    element: Element,
    lanes: &Lanes,
    zero: T,
    number: impl Fn(u64) -> T,
) -> [T; MAX_ELEMENTS] {
    let layout = Layout::of(product.shape, part, element);
    let (_, columns) = product.shape.extent(part);
    // Columns of A, or rows of B, that share a position in the layout.
    let packed = match (part, element.bits()) {
        (Part::C, _) => 1,
        (_, bits) => layout.bits / bits,
    };
    let columns = if part == Part::A {
        columns / packed
    } else {
        columns
    };
    let mut matrix = [zero; MAX_ELEMENTS];
    let mask = u64::MAX >> (64 - layout.bits);
    for (lane_number, lane) in (0..).zip(lanes) {
        for unit in 0..layout.units {
            let value = lane.unit(part.first_register(), unit as usize, layout.bits == 64);
            let (row, column) = layout.position(lane_number, unit);
            let mut place = row * columns + column;
            for index in 0..layout.numbers {
                matrix[place as usize] = number(value >> (index * layout.bits) & mask);
                place += if layout.follow_in_row() { 1 } else { columns };
            }
        }
    }
    matrix
}

fn scatter(product: Product, lanes: &Lanes, number: impl Fn(usize) -> u64) {
    let layout = Layout::of(product.shape, Part::C, product.d);
    for (lane_number, lane) in (0..).zip(lanes) {
        for unit in 0..layout.units {
            let (row, column) = layout.position(lane_number, unit);
            let first = row * product.shape.n + column;
            let value = (0..layout.numbers).fold(0, |value, index| {
                value | number((first + index) as usize) << (index * layout.bits)
            });
            lane.set_unit(unit as usize, value, layout.bits == 64);
        }
    }
}

/// Adds the products of rows and columns, with `depth` elements each, to `sums`.
fn accumulate<T: Copy, S: Copy>(
    (rows, columns, depth): (u32, u32, u32),
    a: &[T; MAX_ELEMENTS],
    b: &[T; MAX_ELEMENTS],
    sums: &mut [S; MAX_ELEMENTS],
    step: impl Fn(T, T, S) -> S,
) {
    let (rows, columns, depth) = (rows as usize, columns as usize, depth as usize);
    for (left, sums) in a
        .chunks_exact(depth)
        .zip(sums.chunks_exact_mut(columns))
        .take(rows)
    {
        for (left, right) in left.iter().zip(b.chunks_exact(columns)) {
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = step(*left, *right, *sum);
            }
        }
    }
}

pub fn multiply(product: Product, lanes: &Lanes) {
    match product.a {
        Element::F64 => doubles(product, lanes),
        Element::F16 | Element::Bf16 | Element::Tf32 => floats(product, lanes),
        _ => integers(product, lanes),
    }
}

fn extents(product: Product) -> (u32, u32, u32) {
    let shape = product.shape;
    (shape.m, shape.n, shape.k)
}

fn single(element: Element, bits: u64) -> f32 {
    match element {
        Element::F16 => f16::from_bits(bits as u16).to_f32(),
        Element::Bf16 => bf16::from_bits(bits as u16).to_f32(),
        Element::Tf32 => f32::from_bits(bits as u32 & !0x1fff),
        _ => f32::from_bits(bits as u32),
    }
}

fn floats(product: Product, lanes: &Lanes) {
    let get = |part, element| {
        gather(product, part, element, lanes, 0.0, |bits| {
            single(element, bits)
        })
    };
    let (a, b) = (get(Part::A, product.a), get(Part::B, product.b));
    let mut sums = get(Part::C, product.c);
    accumulate(extents(product), &a, &b, &mut sums, |a, b, sum: f32| {
        a * b + sum
    });
    scatter(product, lanes, |place| {
        let sum = sums[place];
        let is_half = product.d == Element::F16;
        let sum = match product.saturates {
            true if sum.is_nan() => 0.0,
            true => {
                let max = if is_half { f16::MAX.to_f32() } else { f32::MAX };
                sum.clamp(-max, max)
            }
            false => sum,
        };
        u64::from(match (is_half, sum.is_nan()) {
            (true, true) => 0x7fff,
            (true, false) => u32::from(f16::from_f32(sum).to_bits()),
            (false, true) => 0x7fff_ffff,
            (false, false) => sum.to_bits(),
        })
    });
}

fn doubles(product: Product, lanes: &Lanes) {
    let get = |part| gather(product, part, Element::F64, lanes, 0.0, f64::from_bits);
    let (a, b, mut sums) = (get(Part::A), get(Part::B), get(Part::C));
    accumulate(extents(product), &a, &b, &mut sums, f64::mul_add);
    scatter(product, lanes, |place| sums[place].to_bits());
}

fn integers(product: Product, lanes: &Lanes) {
    let get = |part, element| gather(product, part, element, lanes, 0, |bits| bits as u32);
    let (a, b) = (get(Part::A, product.a), get(Part::B, product.b));
    let initial = get(Part::C, product.c);
    let mut sums = [0; MAX_ELEMENTS];
    let (rows, columns, depth) = extents(product);
    let bits = product.a.bits();
    // Elements with fewer than 8 bits are packed into words.
    let depth = if bits < 8 { depth * bits / 32 } else { depth };
    let size = (rows, columns, depth);
    match product.a {
        Element::B1 => accumulate(size, &a, &b, &mut sums, |a, b, sum| {
            let bits = if product.is_xor { a ^ b } else { a & b };
            sum + bits.count_ones() as i32
        }),
        Element::S4 | Element::U4 => accumulate(size, &a, &b, &mut sums, |a, b, sum| {
            (0..8).fold(sum, |sum, index| {
                let nibble = |word: u32| word >> (4 * index) & 15;
                sum + extend(product.a, nibble(a)) * extend(product.b, nibble(b))
            })
        }),
        _ => accumulate(size, &a, &b, &mut sums, |a, b, sum| {
            sum + extend(product.a, a) * extend(product.b, b)
        }),
    }
    scatter(product, lanes, |place| {
        // The sum of the products cannot overflow.
        let (initial, sum) = (initial[place] as i32, sums[place]);
        let total = if product.saturates {
            initial.saturating_add(sum)
        } else {
            initial.wrapping_add(sum)
        };
        u64::from(total as u32)
    });
}

fn extend(element: Element, bits: u32) -> i32 {
    match element {
        Element::S8 => i32::from(bits as u8 as i8),
        Element::S4 => (bits as i32) << 28 >> 28,
        _ => bits as i32,
    }
}
