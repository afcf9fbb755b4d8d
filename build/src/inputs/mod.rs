//! Input files for a run: fetched, or generated if unavailable.

mod find;
mod generator;
mod materialise;
#[cfg(test)]
mod tests;

pub use find::{InputPlace, find_input};
pub use generator::Generator;
pub use materialise::{InputUsed, materialise};

pub use crate::fetch::Origin;
