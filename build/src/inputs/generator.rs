//! The built-in generators: their names, parameters and limits.

use std::io;

use superstep_toolchain::KeyHasher;

use super::generate::{self, Counted, Random};
use super::{mesh, video};

/// A generator with its seed and parameters, as a manifest names it.
#[derive(Debug, Clone)]
pub struct Generator {
    kind: &'static Kind,
    /// The values of its parameters, in their order.
    values: Vec<u64>,
    pub(super) seed: u64,
}

#[derive(Debug)]
struct Kind {
    name: &'static str,
    parameters: &'static [&'static str],
    /// Which values fit, in words.
    allowed: &'static str,
    fits: fn(&[u64]) -> bool,
    write: fn(&[u64], &mut Random, &mut Counted<'_>) -> io::Result<()>,
}

const FIELD: [&str; 3] = ["rows", "columns", "layers"];
const CELLS: &str = "1 to 4294967296 cells in all (rows × columns × layers)";
/// 2²⁴: so many rows, nodes, keys or elements at most.
const MOST: u64 = 1 << 24;

const GENERATORS: [Kind; 11] = [
    // An undirected random graph as text; the degree is the mean number of edges at a node.
    Kind {
        name: "bfs-graph",
        parameters: &["nodes", "degree"],
        allowed: "1 to 16777216 nodes and an even degree of 2 to 64",
        fits: |it| is_count(it[0]) && (2..=64).contains(&it[1]) && it[1] % 2 == 0,
        write: |it, random, output| generate::graph(it[0], it[1], random, output),
    },
    // Start temperatures in kelvin, a number a line: 320 to 340, as in upstream's three-dimensional file.
    Kind {
        name: "hotspot-temperature",
        parameters: FIELD.split_at(2).0,
        allowed: CELLS,
        fits: is_field,
        write: |it, random, output| generate::cells(it, 320_000_000, 20_000_000, random, output),
    },
    // Dissipated power in watts, up to 3 mW, a number a line.
    Kind {
        name: "hotspot-power",
        parameters: FIELD.split_at(2).0,
        allowed: CELLS,
        fits: is_field,
        write: |it, random, output| generate::cells(it, 0, 3_000, random, output),
    },
    Kind {
        name: "hotspot3d-temperature",
        parameters: &FIELD,
        allowed: CELLS,
        fits: is_field,
        write: |it, random, output| generate::cells(it, 320_000_000, 20_000_000, random, output),
    },
    // The same up to 1 W.
    Kind {
        name: "hotspot3d-power",
        parameters: &FIELD,
        allowed: CELLS,
        fits: is_field,
        write: |it, random, output| generate::cells(it, 0, 1_000_000, random, output),
    },
    // The numbers below a bound, each once, in random order, behind their count.
    Kind {
        name: "key-list",
        parameters: &["count"],
        allowed: "1 to 16777216 keys",
        fits: |it| is_count(it[0]),
        write: |it, random, output| generate::keys(it[0], random, output),
    },
    // Numbers from 0 to 1, a number a line.
    Kind {
        name: "random-fractions",
        parameters: &["count"],
        allowed: "1 to 16777216 numbers",
        fits: |it| is_count(it[0]),
        write: |it, random, output| generate::cells(it, 0, 1_000_000, random, output),
    },
    // Numbered rows of features from 0 to 1.
    Kind {
        name: "feature-table",
        parameters: &["rows", "features"],
        allowed: "1 to 16777216 rows and 1 to 64 features",
        fits: |it| is_count(it[0]) && (1..=64).contains(&it[1]),
        write: |it, random, output| generate::feature_table(it[0], it[1], random, output),
    },
    Kind {
        name: "tetrahedral-mesh",
        parameters: &["elements"],
        allowed: "1 to 16777216 elements",
        fits: |it| is_count(it[0]),
        write: |it, random, output| mesh::tetrahedra(it[0], random, output),
    },
    // A video of drifting cells, as AVI.
    Kind {
        name: "cell-video",
        parameters: &["width", "height", "frames", "cells", "noise"],
        allowed: "64 to 4096 columns and rows with an even number of pixels, 1 to 1000 frames, less than 2 GiB, at most 256 cells and 64 shades of noise",
        fits: |it| video::Video::of(it).is_in_range(),
        write: |it, random, output| video::cells(video::Video::of(it), random, output),
    },
    // Uniformly distributed bytes.
    Kind {
        name: "random-bytes",
        parameters: &["bytes"],
        allowed: "1 to 1099511627776 bytes",
        fits: |it| (1..=1 << 40).contains(&it[0]),
        write: |it, random, output| generate::random_bytes(it[0], random, output),
    },
];

fn is_count(number: u64) -> bool {
    (1..=MOST).contains(&number)
}

/// Whether a field of these extents has 1 to 2³² cells.
fn is_field(extents: &[u64]) -> bool {
    let cells = (extents.iter()).try_fold(1u64, |cells, extent| cells.checked_mul(*extent));
    cells.is_some_and(|cells| (1..=1 << 32).contains(&cells))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to generate an input: {problem}; {hint}")]
pub struct GeneratorError {
    pub problem: String,
    /// What was expected.
    pub hint: String,
}

impl Generator {
    /// Finds a generator by name and checks its parameters.
    pub fn parse(
        name: &str,
        seed: u64,
        parameters: &[(&str, u64)],
    ) -> Result<Generator, GeneratorError> {
        let error = |problem, hint| Err(GeneratorError { problem, hint });
        let Some(kind) = GENERATORS.iter().find(|kind| kind.name == name) else {
            let names: Vec<String> = GENERATORS
                .iter()
                .map(|it| format!("`{}`", it.name))
                .collect();
            return error(
                format!("unknown generator `{name}`"),
                format!("expected one of {}", names.join(", ")),
            );
        };
        let wrong = |what: String| {
            let known = kind.parameters.join(", ");
            let problem = format!("generator `{name}` {what}");
            error(problem, format!("its parameters are: {known}"))
        };
        let mut given = parameters.iter();
        if let Some((unknown, _)) = given.find(|(given, _)| !kind.parameters.contains(given)) {
            return wrong(format!("has no parameter `{unknown}`"));
        }
        let mut values = Vec::new();
        for wanted in kind.parameters {
            match parameters.iter().find(|(given, _)| given == wanted) {
                Some((_, value)) => values.push(*value),
                None => return wrong(format!("lacks its parameter `{wanted}`")),
            }
        }
        if !(kind.fits)(&values) {
            return error(
                format!("a parameter of generator `{name}` is out of range"),
                format!("expected {}", kind.allowed),
            );
        }
        Ok(Generator { kind, values, seed })
    }

    pub(super) fn name(&self) -> &'static str {
        self.kind.name
    }

    /// The key of the file that it makes.
    pub(super) fn key(&self) -> String {
        let mut key = KeyHasher::new(self.kind.name);
        for value in self.values.iter().chain([&self.seed]) {
            key.bytes(&value.to_le_bytes());
        }
        key.finish()
    }

    pub(super) fn write(&self, random: &mut Random, output: &mut Counted<'_>) -> io::Result<()> {
        (self.kind.write)(&self.values, random, output)
    }
}
