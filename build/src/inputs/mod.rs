//! Input files of a run: fetched, or generated where they cannot be had.
//!
//! [`materialise`] puts every input of a size into a program's working folder. Generators are deterministic: the same
//! name, seed and parameters give the same bytes on every machine (`generator` lists them).

mod find;
mod generate;
mod generator;
mod materialise;
mod mesh;
#[cfg(test)]
mod tests;
mod video;

pub use find::{InputPlace, find_input};
pub use generator::{Generator, GeneratorError};
pub(crate) use materialise::InputError;
pub use materialise::{InputUsed, Origin, materialise};
