//! Settings for the metrics.

use super::scaling::LINK_GB_PER_S;
use std::fmt;
use std::ops::RangeInclusive;

/// Settings that affect the contents of the tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// CTAs shown in an additional density map.
    pub density: Option<CtaWindow>,
    /// Bandwidth of a GPU's link in one direction, in GB/s (10⁹ bytes), for the multi-GPU model.
    pub link_gb_per_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            density: None,
            link_gb_per_s: LINK_GB_PER_S,
        }
    }
}

/// Ranges of CTA numbers on the two axes of a density map; CTAs are numbered by x, then y, then z.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CtaWindow {
    pub sources: RangeInclusive<u64>,
    pub receivers: RangeInclusive<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to read the CTAs {text:?}: {why}; expected FIRST-LAST, or SOURCES:RECEIVERS if they differ, as in 100-299 or 4000-4199:0-63"
)]
pub struct WindowError {
    text: String,
    why: String,
}

impl CtaWindow {
    /// Parses `FIRST-LAST` for both axes, or `FIRST-LAST:FIRST-LAST` for sources and receivers. Ranges include both
    /// ends; a single number is a range of one. The error names the part that is not a range.
    pub fn parse(text: &str) -> Result<Self, WindowError> {
        let failed = |why: String| WindowError {
            text: text.to_owned(),
            why,
        };
        let number = |part: &str| -> Result<u64, WindowError> {
            // CTA numbers are 32-bit integers.
            let part = part.trim();
            let why = || format!("`{part}` is not a number from 0 to {}", u32::MAX);
            part.parse::<u32>()
                .map(u64::from)
                .map_err(|_| failed(why()))
        };
        let range = |part: &str| -> Result<RangeInclusive<u64>, WindowError> {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            match first <= last {
                true => Ok(first..=last),
                false => Err(failed(format!("{first}-{last} ends before it starts"))),
            }
        };
        let (sources, receivers) = text.split_once(':').unwrap_or((text, text));
        Ok(Self {
            sources: range(sources)?,
            receivers: range(receivers)?,
        })
    }
}

impl fmt::Display for CtaWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.sources.start(), self.sources.end())?;
        match self.receivers == self.sources {
            true => Ok(()),
            false => write!(f, ":{}-{}", self.receivers.start(), self.receivers.end()),
        }
    }
}

#[cfg(test)]
mod tests;
