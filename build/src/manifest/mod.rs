//! Suite and benchmark manifests: the YAML files under `suites/` that say what to fetch, build, run and check.
//!
//! Parts, in the order in which a file passes them: `load` walks a suite's folder, `schema` reads the YAML strictly (an
//! unknown key is an error that points at its line), `check`, `sizes` and `rules` hold what a schema cannot express and
//! turn the raw values into the types of `model`. `docs/manifest.md` documents every key for those who write manifests;
//! a test holds that page against the schema.

mod check;
pub(crate) mod error;
pub(crate) mod load;
mod model;
mod rules;
mod schema;
mod sizes;
pub(crate) mod spans;
#[cfg(test)]
mod tests;

pub(crate) use error::ManifestError;
pub use load::Manifest;
pub use model::{
    Benchmark, Checks, Determinism, Input, InputSource, Language, Sha256, Size, Source, Suite,
    TranslationUnit,
};
pub(crate) use model::{Constant, DataArchive};
pub use schema::{Expected, Flags};
