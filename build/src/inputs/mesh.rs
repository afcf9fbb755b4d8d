//! A mesh of tetrahedra as text: the number of elements; for each its volume, and for each of its four
//! faces the neighbour behind it (counted from 1; 0 for the wing, -1 for the far field) and the normal, outward, as long as the face's area.
//!
//! Cubes of a tenth are each cut into six tetrahedra along the paths from one corner to the opposite one (Kuhn's triangulation), which
//! fit together across cubes. The border downstream, in the direction of x, is the wing, the others are the far field. The numbers of the
//! elements are shuffled within windows, as a mesh generator leaves neither order nor chaos.

use std::io;

use super::generate::{Counted, Random};

/// Paths along the three axes from corner to corner.
const PATHS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];
/// Elements whose numbers are shuffled among each other.
const WINDOW: usize = 1024;
/// A sixth of the cube of a tenth.
const VOLUME: &str = "0.000166667";
/// Half of the square of a tenth, with the signs that a normal's components have.
const AREAS: [&str; 3] = ["-0.005", "0", "0.005"];

/// The cubes' arrangement: as long as wide, as high as it takes.
struct Grid {
    side: usize,
    elements: usize,
}

/// What lies behind a face, and its normal in units of half a cube's side.
struct Face {
    neighbour: Option<usize>,
    is_wing: bool,
    normal: [i8; 3],
}

impl Grid {
    fn new(elements: usize) -> Self {
        let cubes = elements.div_ceil(PATHS.len());
        let mut side = 1;
        while side * side * side < cubes {
            side += 1;
        }
        Self { side, elements }
    }

    /// The cube next to one along an axis; `None` at the grid's border.
    fn beside(&self, cube: [usize; 3], axis: usize, is_up: bool) -> Option<[usize; 3]> {
        let mut other = cube;
        other[axis] = if is_up {
            cube[axis] + 1
        } else {
            cube[axis].checked_sub(1)?
        };
        (axis == 2 || other[axis] < self.side).then_some(other)
    }

    /// The element of a cube that goes along a path; `None` where the mesh has ended.
    fn element(&self, cube: [usize; 3], path: [usize; 3]) -> Option<usize> {
        let place = (cube[2] * self.side + cube[1]) * self.side + cube[0];
        let path = PATHS.iter().position(|other| *other == path)?;
        let element = place * PATHS.len() + path;
        (element < self.elements).then_some(element)
    }

    /// The faces of an element, opposite of its first to its fourth corner.
    fn faces(&self, element: usize) -> [Face; 4] {
        let place = element / PATHS.len();
        let cube = [
            place % self.side,
            place / self.side % self.side,
            place / self.side / self.side,
        ];
        let [a, b, c] = PATHS[element % PATHS.len()];
        let normal = |plus: Option<usize>, minus: Option<usize>| {
            let mut normal = [0; 3];
            if let Some(axis) = plus {
                normal[axis] = 1;
            }
            if let Some(axis) = minus {
                normal[axis] = -1;
            }
            normal
        };
        let up = self.beside(cube, a, true);
        let down = self.beside(cube, c, false);
        let inside = |path, normal| Face {
            neighbour: self.element(cube, path),
            is_wing: false,
            normal,
        };
        [
            Face {
                neighbour: up.and_then(|cube| self.element(cube, [b, c, a])),
                is_wing: a == 0 && up.is_none(),
                normal: normal(Some(a), None),
            },
            inside([b, a, c], normal(Some(b), Some(a))),
            inside([a, c, b], normal(Some(c), Some(b))),
            Face {
                neighbour: down.and_then(|cube| self.element(cube, [c, a, b])),
                is_wing: false,
                normal: normal(None, Some(c)),
            },
        ]
    }
}

pub(super) fn tetrahedra(
    elements: u64,
    random: &mut Random,
    output: &mut Counted<'_>,
) -> io::Result<()> {
    let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let count = usize::try_from(elements).map_err(too_large)?;
    let grid = Grid::new(count);
    // Which element stands at a number, and the reverse.
    let mut order: Vec<usize> = (0..count).collect();
    for window in order.chunks_mut(WINDOW) {
        for last in (1..window.len()).rev() {
            // A window is small, so it fits.
            window.swap(last, random.below(last as u32 + 1) as usize);
        }
    }
    let mut numbers = vec![0; count];
    for (number, &element) in order.iter().enumerate() {
        numbers[element] = number;
    }
    let mut text = itoa::Buffer::new();
    output.text(text.format(count))?;
    output.text("\n")?;
    for &element in &order {
        output.text(VOLUME)?;
        for face in grid.faces(element) {
            output.text(" ")?;
            match face.neighbour {
                Some(neighbour) => output.text(text.format(numbers[neighbour] + 1))?,
                None => output.text(if face.is_wing { "0" } else { "-1" })?,
            }
            for component in face.normal {
                output.text(" ")?;
                output.text(AREAS[(component + 1) as usize])?;
            }
        }
        output.text("\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_close_each_element_and_are_shared_by_two() {
        let grid = Grid::new(500);
        let mut wings = 0;
        for element in 0..500 {
            let faces = grid.faces(element);
            for axis in 0..3 {
                let sum: i8 = faces.iter().map(|face| face.normal[axis]).sum();
                assert_eq!(sum, 0, "element {element} is closed");
            }
            for face in &faces {
                wings += usize::from(face.is_wing);
                let Some(neighbour) = face.neighbour else {
                    continue;
                };
                let back = grid.faces(neighbour);
                let same = back
                    .iter()
                    .find(|other| other.neighbour == Some(element))
                    .unwrap_or_else(|| panic!("{neighbour} does not know {element}"));
                assert_eq!(same.normal, face.normal.map(|component| -component));
            }
        }
        assert_eq!(wings, 2 * 16, "two faces of each cube downstream");
    }
}
