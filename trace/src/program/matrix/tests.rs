//! Tests for `matrix`.

use super::*;

#[test]
fn shapes_have_names() {
    let shape = |m, n, k| Some(Shape { m, n, k });
    assert_eq!(Shape::of("m16n8k256"), shape(16, 8, 256));
    assert_eq!(Shape::of("m8n32k16"), shape(8, 32, 16));
    for other in ["m8n8", "m16n16k15", "m64n8k16", "mnk", "row"] {
        assert_eq!(Shape::of(other), None, "{other}");
    }
}

#[test]
fn pieces_cover_all_lines() {
    let shape = |m, n, k| Shape { m, n, k };
    let all = [
        (shape(16, 16, 16), Element::F16),
        (shape(32, 8, 16), Element::Bf16),
        (shape(8, 32, 16), Element::U8),
        (shape(16, 16, 8), Element::Tf32),
        (shape(8, 8, 4), Element::F64),
        (shape(8, 8, 128), Element::B1),
    ];
    for (shape, factor) in all {
        let sum = if factor == Element::F64 {
            factor
        } else {
            Element::F32
        };
        for (part, element) in [(Part::A, factor), (Part::B, factor), (Part::C, sum)] {
            for by_columns in [false, true] {
                if element == Element::B1 && by_columns != (part == Part::B) {
                    continue;
                }
                let tile = Tile {
                    shape,
                    part,
                    element,
                    by_columns,
                };
                let (rows, columns) = shape.extent(part);
                let lines = if by_columns { columns } else { rows };
                let all_bytes = lines * tile.line_bytes();
                assert_eq!(32 * tile.piece_bytes(), all_bytes, "{tile:?}");
                assert_eq!(tile.line_bytes() % tile.piece_bytes(), 0, "{tile:?}");
            }
        }
    }
}

#[test]
fn codes_round_trip() {
    let shape = Shape { m: 16, n: 8, k: 64 };
    let tile = Tile {
        shape,
        part: Part::C,
        element: Element::S32,
        by_columns: true,
    };
    let product = Product {
        shape,
        a: Element::S4,
        b: Element::U4,
        c: Element::S32,
        d: Element::F16,
        is_xor: true,
        saturates: false,
    };
    let rows = Rows {
        matrices: 4,
        transposed: true,
    };
    use MatrixOperation::*;
    for operation in [
        Load(tile),
        Store(tile),
        Multiply(product),
        LoadRows(rows),
        StoreRows(rows),
    ] {
        assert_eq!(
            MatrixOperation::from_code(operation.code()),
            Some(operation)
        );
    }
    assert_eq!(MatrixOperation::from_code(99), None);
}
