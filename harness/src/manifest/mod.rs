//! Suite and benchmark manifests: the YAML files under `suites/` that say what to fetch, build, run and check.
//!
//! Parts, in the order in which a file passes them: [`schema`](self) reads the YAML strictly (an unknown key is an
//! error that points at its line), `check` holds the rules that a schema cannot express and turns the raw values into
//! the types of `model`, `load` walks a suite's folder. `docs/manifest.md` documents every key for those who write
//! manifests; the tests hold that page against the schema.

mod check;
mod error;
mod load;
mod model;
mod schema;
mod spans;
#[cfg(test)]
mod tests;

pub use error::{Invalid, ManifestError};
pub use load::Manifest;
pub use model::{
    Benchmark, Checks, DataArchive, Determinism, Expected, Flags, Input, InputSource, Language,
    Sha256, Size, Source, Suite, TranslationUnit,
};
