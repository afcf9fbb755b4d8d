//! Suite and benchmark manifests: the YAML files under `suites/` that say what to fetch, build, run and check.
//! `docs/manifest.md` documents every key; a test compares that page with the types.

pub(crate) mod error;
mod load;
mod model;
mod position;
mod scalar;
#[cfg(test)]
mod tests;
pub(crate) mod validate;

pub use load::load_suite;
pub use model::{
    Benchmark, Checks, Determinism, Expected, Flags, GitSource, Input, Language, Sha256, Size,
    Source, Suite, TranslationUnit, Variation,
};
pub(crate) use model::{Constant, DataArchive};
