//! The built-in generators: their names, parameters and limits.

use super::video::Video;

/// A generator with its seed and parameters, as a manifest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generator {
    pub kind: GeneratorKind,
    /// Seed of the random numbers.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneratorKind {
    /// `bfs-graph`: an undirected random graph as text.
    Graph {
        /// Number of nodes, 1 to 2²⁴.
        nodes: u64,
        /// Mean number of edges at a node, even, 2 to 64.
        degree: u64,
    },
    /// `hotspot-temperature` and `hotspot3d-temperature`: start temperatures in kelvin, a number a line.
    Temperature(Field),
    /// `hotspot-power`: dissipated power in watts, up to 3 mW, a number a line.
    Power(Field),
    /// `hotspot3d-power`: dissipated power in watts, up to 1 W, a number a line.
    Power3d(Field),
    /// `key-list`: the numbers below a bound, each once, in random order, behind their count.
    KeyList {
        /// Number of keys, 1 to 2²⁴.
        count: u64,
    },
    /// `random-fractions`: numbers from 0 to 1, a number a line.
    Fractions(Field),
    /// `feature-table`: numbered rows of features from 0 to 1.
    FeatureTable {
        /// Number of rows, 1 to 2²⁴.
        rows: u64,
        /// Features of a row, 1 to 64.
        features: u64,
    },
    /// `tetrahedral-mesh`: a mesh of tetrahedra as text.
    TetrahedralMesh {
        /// Number of tetrahedra, 1 to 2²⁴.
        elements: u64,
    },
    /// `cell-video`: a video of drifting cells, as AVI.
    CellVideo(Video),
    /// `random-bytes`: uniformly distributed bytes.
    RandomBytes {
        /// Length of the file in bytes, 1 to 2⁴⁰.
        bytes: u64,
    },
}

/// Cells of a field. The file has `rows * columns * layers` lines, layer by layer, row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub rows: u64,
    pub columns: u64,
    /// Layers; 1 for the two-dimensional field.
    pub layers: u64,
}

/// Largest number of cells in a field.
const MAX_CELLS: u64 = 1 << 32;

/// Names of all generators with their parameters.
const GENERATORS: [(&str, &[&str]); 11] = [
    ("bfs-graph", &["nodes", "degree"]),
    ("hotspot-temperature", &["rows", "columns"]),
    ("hotspot-power", &["rows", "columns"]),
    ("hotspot3d-temperature", &["rows", "columns", "layers"]),
    ("hotspot3d-power", &["rows", "columns", "layers"]),
    ("key-list", &["count"]),
    ("random-fractions", &["count"]),
    ("feature-table", &["rows", "features"]),
    ("tetrahedral-mesh", &["elements"]),
    (
        "cell-video",
        &["width", "height", "frames", "cells", "noise"],
    ),
    ("random-bytes", &["bytes"]),
];

/// Why a generator's description is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratorError {
    pub problem: String,
    /// What was expected.
    pub mend: String,
}

impl Generator {
    /// Finds a generator by name and checks its parameters.
    pub fn parse(
        name: &str,
        seed: u64,
        parameters: &[(&str, u64)],
    ) -> Result<Generator, GeneratorError> {
        let Some((_, known)) = GENERATORS.iter().find(|(known, _)| *known == name) else {
            let names = GENERATORS.map(|(name, _)| format!("`{name}`"));
            return Err(GeneratorError {
                problem: format!("unknown generator `{name}`"),
                mend: format!("expected one of {}", names.join(", ")),
            });
        };
        let given = Given {
            generator: name,
            known,
            parameters,
        };
        let unknown = parameters.iter().find(|(name, _)| !known.contains(name));
        if let Some((unknown, _)) = unknown {
            return Err(given.error(format!("has no parameter `{unknown}`")));
        }
        Ok(Generator {
            kind: given.kind()?,
            seed,
        })
    }
}

/// What a manifest gives a generator.
struct Given<'a> {
    generator: &'a str,
    /// The names of its parameters.
    known: &'a [&'a str],
    parameters: &'a [(&'a str, u64)],
}

/// 2²⁴: so many rows, nodes, keys or elements at most.
const MOST: u64 = 1 << 24;

impl Given<'_> {
    fn kind(&self) -> Result<GeneratorKind, GeneratorError> {
        Ok(match self.generator {
            "bfs-graph" => {
                let (nodes, degree) = (self.value("nodes")?, self.value("degree")?);
                let even = (2..=64).contains(&degree) && degree % 2 == 0;
                let allowed = "1 to 16777216 nodes and an even degree of 2 to 64";
                self.require((1..=MOST).contains(&nodes) && even, allowed)?;
                GeneratorKind::Graph { nodes, degree }
            }
            "hotspot-temperature" => GeneratorKind::Temperature(self.field(1)?),
            "hotspot-power" => GeneratorKind::Power(self.field(1)?),
            "hotspot3d-temperature" => {
                GeneratorKind::Temperature(self.field(self.value("layers")?)?)
            }
            "hotspot3d-power" => GeneratorKind::Power3d(self.field(self.value("layers")?)?),
            "key-list" => GeneratorKind::KeyList {
                count: self.up_to(MOST, "count", "keys")?,
            },
            "random-fractions" => GeneratorKind::Fractions(Field {
                rows: self.up_to(MOST, "count", "numbers")?,
                columns: 1,
                layers: 1,
            }),
            "feature-table" => {
                let (rows, features) = (self.value("rows")?, self.value("features")?);
                let allowed = "1 to 16777216 rows and 1 to 64 features";
                let fits = (1..=MOST).contains(&rows) && (1..=64).contains(&features);
                self.require(fits, allowed)?;
                GeneratorKind::FeatureTable { rows, features }
            }
            "tetrahedral-mesh" => GeneratorKind::TetrahedralMesh {
                elements: self.up_to(MOST, "elements", "elements")?,
            },
            "cell-video" => GeneratorKind::CellVideo(self.video()?),
            "random-bytes" => GeneratorKind::RandomBytes {
                bytes: self.up_to(1 << 40, "bytes", "bytes")?,
            },
            _ => return Err(self.error("is not written yet".to_owned())),
        })
    }

    fn error(&self, what: String) -> GeneratorError {
        GeneratorError {
            problem: format!("generator `{}` {what}", self.generator),
            mend: format!("its parameters are: {}", self.known.join(", ")),
        }
    }

    fn value(&self, wanted: &str) -> Result<u64, GeneratorError> {
        let found = self.parameters.iter().find(|(name, _)| *name == wanted);
        let missing = || self.error(format!("lacks its parameter `{wanted}`"));
        found.map(|(_, value)| *value).ok_or_else(missing)
    }

    fn require(&self, holds: bool, allowed: &str) -> Result<(), GeneratorError> {
        if holds {
            return Ok(());
        }
        Err(GeneratorError {
            problem: format!(
                "a parameter of generator `{}` is out of range",
                self.generator
            ),
            mend: format!("expected {allowed}"),
        })
    }

    /// A parameter from 1 to `most`.
    fn up_to(&self, most: u64, wanted: &str, what: &str) -> Result<u64, GeneratorError> {
        let value = self.value(wanted)?;
        let allowed = format!("1 to {most} {what}");
        self.require((1..=most).contains(&value), &allowed)?;
        Ok(value)
    }

    fn field(&self, layers: u64) -> Result<Field, GeneratorError> {
        let field = Field {
            rows: self.value("rows")?,
            columns: self.value("columns")?,
            layers,
        };
        let fits = matches!(field.cells(), Some(1..=MAX_CELLS));
        let allowed = "1 to 4294967296 cells in all (rows × columns × layers)";
        self.require(fits, allowed)?;
        Ok(field)
    }

    fn video(&self) -> Result<Video, GeneratorError> {
        let video = Video {
            width: self.value("width")?,
            height: self.value("height")?,
            frames: self.value("frames")?,
            cells: self.value("cells")?,
            noise: self.value("noise")?,
        };
        let allowed = "64 to 4096 columns and rows with an even number of pixels, 1 to 1000 frames, less than 2 GiB, at most 256 cells and 64 shades of noise";
        self.require(video.is_in_range(), allowed)?;
        Ok(video)
    }
}

impl Field {
    /// Number of cells; `None` when it does not fit.
    pub fn cells(&self) -> Option<u64> {
        self.rows
            .checked_mul(self.columns)?
            .checked_mul(self.layers)
    }
}
