//! A warp's matrix operations, parsed from the modifiers of PTX instructions and the names of intrinsics.

use superstep_trace::matrix::{Element, MatrixOperation, Part, Product, Rows, Shape, Tile};

/// Number of registers per lane for A or B in half-precision `wmma`, which stores elements twice if there is room.
const WMMA_HALVES: u32 = 8;

/// Returns the number of registers that an instruction names for a part; 64-bit registers count once.
pub fn registers(opcode: &str, shape: Shape, part: Part, element: Element) -> usize {
    let registers = match (opcode, element, part) {
        ("wmma", Element::F16, Part::A | Part::B) => WMMA_HALVES,
        (_, Element::F64, _) => shape.registers(part, element) / 2,
        _ => shape.registers(part, element),
    };
    registers as usize
}

/// Returns whether a lane's part consists of whole registers, and no more than are available.
fn fits(shape: Shape, part: Part, element: Element) -> bool {
    let max = if element == Element::F64 { 16 } else { 8 };
    (1..=max).contains(&shape.registers(part, element))
}

pub fn parse_intrinsic(name: &str) -> Option<MatrixOperation> {
    let words = name.strip_prefix("llvm.nvvm.wmma.")?;
    read("wmma", words.split('.'))
}

/// Parses an opcode and its modifiers; returns `None` if they name another operation.
pub fn read<'w>(opcode: &str, words: impl IntoIterator<Item = &'w str>) -> Option<MatrixOperation> {
    let (mut shape, mut part, mut kind) = (None, None, opcode);
    let (mut elements, mut by_columns, mut single_bits) = (Vec::new(), Vec::new(), None);
    let (mut matrices, mut transposed, mut saturates) = (None, false, false);
    for word in words {
        if let Ok(element) = word.parse::<Element>() {
            elements.push(element);
        } else if let Some(extents) = Shape::of(word) {
            shape = Some(extents);
        } else {
            match word {
                "load" | "store" | "mma" if opcode == "wmma" => kind = word,
                "a" => part = Some(Part::A),
                "b" => part = Some(Part::B),
                "c" | "d" => part = Some(Part::C),
                "row" | "col" => by_columns.push(word == "col"),
                "xor" | "and" => single_bits = Some(word == "xor"),
                "satfinite" => saturates = true,
                "x1" | "x2" | "x4" => matrices = word[1..].parse().ok(),
                "trans" => transposed = true,
                "m8n8" | "b16" if opcode.ends_with("matrix") => {}
                "sync" | "aligned" | "stride" | "popc" | "rn" | "p0" | "p1" | "p3" | "global"
                | "shared" | "shared::cta" => {}
                _ => return None,
            }
        }
    }
    let tile = || {
        let (&[element], &[by_columns]) = (&elements[..], &by_columns[..]) else {
            return None;
        };
        let tile = Tile {
            shape: shape?,
            part: part?,
            element,
            by_columns,
        };
        // Elements smaller than a byte are contiguous along k.
        let along_k = element.bits() >= 8 || by_columns == (tile.part == Part::B);
        (along_k && fits(tile.shape, tile.part, element)).then_some(tile)
    };
    let rows = || {
        Some(Rows {
            matrices: matrices?,
            transposed,
        })
    };
    Some(match kind {
        "load" => MatrixOperation::Load(tile()?),
        "store" => MatrixOperation::Store(tile()?),
        "mma" => {
            let product = product(shape?, &elements, single_bits, saturates)?;
            // Plain `mma` requires row-major A and column-major B; the registers of `wmma` do not depend on layout.
            if opcode == "mma" && by_columns != [false, true] {
                return None;
            }
            MatrixOperation::Multiply(product)
        }
        "ldmatrix" => MatrixOperation::LoadRows(rows()?),
        "stmatrix" => MatrixOperation::StoreRows(rows()?),
        _ => return None,
    })
}

fn product(
    shape: Shape,
    elements: &[Element],
    single_bits: Option<bool>,
    saturates: bool,
) -> Option<Product> {
    use Element::*;
    let [d, a, b, c] = match *elements {
        [d, a, b, c] => [d, a, b, c],
        [d, c] => [d, F16, F16, c],
        [F64] => [F64; 4],
        [factor @ (Bf16 | Tf32)] => [F32, factor, factor, F32],
        [factor @ (S8 | U8 | S4 | U4 | B1)] => [S32, factor, factor, S32],
        _ => return None,
    };
    let is_consistent = match (a, b) {
        (F16, F16) => [c, d].iter().all(|sum| matches!(sum, F16 | F32)),
        (Bf16, Bf16) | (Tf32, Tf32) => (c, d) == (F32, F32),
        (F64, F64) => (c, d) == (F64, F64),
        (B1, B1) => single_bits.is_some() && (c, d) == (S32, S32),
        (S8 | U8, S8 | U8) | (S4 | U4, S4 | U4) => (c, d) == (S32, S32),
        _ => false,
    };
    // A row of A is distributed over four lanes, each with at least one register.
    let lane = (32 / a.bits()).max(1);
    let fits = shape.k.is_multiple_of(4 * lane)
        && fits(shape, Part::A, a)
        && fits(shape, Part::B, b)
        && fits(shape, Part::C, c);
    (is_consistent && fits).then_some(Product {
        shape,
        a,
        b,
        c,
        d,
        is_xor: single_bits == Some(true),
        saturates,
    })
}

#[cfg(test)]
mod tests;
