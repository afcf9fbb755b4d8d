//! Blocks of CTAs with consecutive numbers, as endpoints of in-situ transfers.

use crate::SelectionError;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Number of CTAs in a block, a power of two; by default 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct CtaBlocks {
    log2: u32,
}

/// In situ, a grid can have at most 2^27 distinct CTAs.
const MAX_LOG2: u32 = 26;

impl CtaBlocks {
    /// Returns whether each CTA is a block by itself.
    pub fn is_single_cta(&self) -> bool {
        self.log2 == 0
    }

    pub fn ctas(self) -> u32 {
        1 << self.log2
    }

    /// Returns the first CTA in the block of `cta`; it identifies the block.
    pub fn first(self, cta: u32) -> u32 {
        cta >> self.log2 << self.log2
    }

    pub fn number(self, cta: u32) -> u32 {
        cta >> self.log2
    }

    /// Returns the grid of blocks for a grid of CTAs; it is one-dimensional unless each CTA is a block.
    pub fn grid(self, grid: [u32; 3]) -> [u32; 3] {
        let ctas: u64 = grid.map(u64::from).iter().product();
        match self.is_single_cta() {
            true => grid,
            false => [ctas.div_ceil(1 << self.log2) as u32, 1, 1],
        }
    }

    /// Appends the block size to a name, unless each CTA is a block.
    pub fn named(self, name: impl Display) -> String {
        match self.is_single_cta() {
            true => name.to_string(),
            false => format!("{name} ({self})"),
        }
    }
}

impl Display for CtaBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_single_cta() {
            true => f.write_str("CTAs"),
            false => write!(f, "blocks of {} CTAs", self.ctas()),
        }
    }
}

impl From<CtaBlocks> for u32 {
    fn from(blocks: CtaBlocks) -> u32 {
        blocks.ctas()
    }
}

impl TryFrom<u32> for CtaBlocks {
    type Error = SelectionError;

    fn try_from(ctas: u32) -> Result<Self, SelectionError> {
        let log2 = ctas.trailing_zeros();
        let fits = ctas.is_power_of_two() && (1..=MAX_LOG2).contains(&log2);
        fits.then_some(CtaBlocks { log2 })
            .ok_or_else(|| invalid(&ctas.to_string()))
    }
}

impl FromStr for CtaBlocks {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let number: u32 = text.parse().map_err(|_| invalid(text))?;
        number.try_into()
    }
}

fn invalid(value: &str) -> SelectionError {
    let expected = "a number of CTAs that is a power of two, from 2 to 2^26 (67108864)";
    SelectionError::new(value, expected)
}

#[cfg(test)]
mod tests;
