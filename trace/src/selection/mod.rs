//! Selects which of a program's launches and CTAs to record.
//!
//! A selection has two parts. The *scope* is the part of the program that the user is interested in: kernels by name,
//! some of their launches, ranges of CTAs. The *sample* is a random part of the scope, from which totals over the scope
//! and their errors can be estimated. It is drawn with a hash of a seed, identically on host and device, so runs are
//! repeatable, and a reader of the capture can tell which CTAs were sampled.

pub(crate) mod pattern;

use crate::Pattern;
use crate::capture::digest::mix;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Minimum expected number of sampled CTAs in each grid, and the number of each kernel's first launches that are always
/// sampled. With fewer, the error cannot be estimated.
pub const MIN_SAMPLED: u64 = 8;

const MILLION: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleUnit {
    /// Launches, with all of their CTAs.
    Launches,
    /// CTAs: the same ones in each launch with the same number of CTAs.
    Ctas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Unit that is recorded or skipped as a whole.
    pub unit: SampleUnit,
    /// Average share of the units that are recorded, in millionths: 1 to 1,000,000.
    pub rate_per_million: u32,
    pub seed: u64,
}

/// CTAs with linear indices `first..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CtaRange {
    pub first: u32,
    pub last: u32,
}

/// The accesses of a program to record; by default, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Kernels, by mangled name or readable name without parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Pattern>,
    /// Number of these kernels' launches to skip, counted across the whole program in host order.
    pub launch_skip: u64,
    /// Number of launches to record after those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch_count: Option<u64>,
    /// CTAs of each launch; all if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ctas: Vec<CtaRange>,
    /// Random part of the scope that is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    #[default]
    All,
    /// Accesses of the CTAs that [`Selection::takes_cta`] accepts.
    SelectedCtas,
    /// None, because the launch is not in the scope.
    OutOfScope,
    /// None, because the launch was not sampled.
    NotSampled,
}

impl Recorded {
    pub fn is_nothing(self) -> bool {
        matches!(self, Recorded::OutOfScope | Recorded::NotSampled)
    }
}

/// Error for a malformed selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read {value:?}: expected {expected}")]
pub struct SelectionError {
    pub value: String,
    pub expected: String,
}

impl SelectionError {
    pub(crate) fn new(value: &str, expected: impl Into<String>) -> Self {
        let (value, expected) = (value.to_owned(), expected.into());
        Self { value, expected }
    }
}

impl Sample {
    /// Parses a sampling rate, a number between 0 and 1.
    pub fn parse(unit: SampleUnit, rate: &str, seed: u64) -> Result<Self, SelectionError> {
        let millionths = rate
            .trim()
            .parse::<f64>()
            .map(|rate| (rate * f64::from(MILLION)).round());
        match millionths {
            Ok(millionths) if (1.0..=f64::from(MILLION)).contains(&millionths) => Ok(Sample {
                unit,
                rate_per_million: millionths as u32,
                seed,
            }),
            _ => Err(SelectionError::new(
                rate,
                "a share between 0.000001 and 1, such as 0.1",
            )),
        }
    }

    pub fn rate(&self) -> f64 {
        f64::from(self.rate_per_million) / f64::from(MILLION)
    }

    /// Returns the exclusive upper bound on the 32-bit hashes that are sampled.
    pub fn threshold(&self) -> u64 {
        (u64::from(self.rate_per_million) << 32) / u64::from(MILLION)
    }

    /// Returns whether CTA `cta` of a grid of `ctas` CTAs is sampled. Agrees with `selection.h` in the CUDA runtime.
    pub fn takes_cta(&self, ctas: u64, cta: u64) -> bool {
        let bound = ((MIN_SAMPLED << 32) / ctas.max(1)).max(self.threshold());
        ctas <= MIN_SAMPLED || mix(mix(self.seed ^ ctas).wrapping_add(cta)) >> 32 < bound
    }

    /// Returns whether the `index`-th launch of `kernel` in the scope is sampled.
    pub fn takes_launch(&self, kernel: &str, index: u64) -> bool {
        let name = xxhash_rust::xxh3::xxh3_64(kernel.as_bytes());
        index < MIN_SAMPLED
            || mix(mix(self.seed ^ name).wrapping_add(index)) >> 32 < self.threshold()
    }
}

impl CtaRange {
    /// Parses a list of linear CTA indices and ranges, as in `0-15,40`.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, SelectionError> {
        let expected = "comma-separated linear CTA indices and ranges, as in 0-15,40";
        let number = |text: &str| {
            text.trim()
                .parse::<u32>()
                .map_err(|_| SelectionError::new(text, expected))
        };
        text.split(',')
            .map(|part| {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return Err(SelectionError::new(
                        part,
                        "a range that does not end before it starts",
                    ));
                }
                Ok(CtaRange { first, last })
            })
            .collect()
    }
}

impl std::fmt::Display for CtaRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

impl Selection {
    pub fn is_everything(&self) -> bool {
        *self == Selection::default()
    }

    /// Returns whether any CTAs of recorded launches are left out.
    pub fn is_by_cta(&self) -> bool {
        !self.ctas.is_empty() || self.samples(SampleUnit::Ctas)
    }

    pub fn samples(&self, unit: SampleUnit) -> bool {
        self.sample.is_some_and(|sample| sample.unit == unit)
    }

    fn selects_kernel(&self, kernel: &str, display_name: impl FnOnce() -> Option<String>) -> bool {
        self.kernel.as_ref().is_none_or(|pattern| {
            pattern.matches(kernel) || display_name().is_some_and(|name| pattern.matches(&name))
        })
    }

    /// Decides whether to record an unnumbered launch of a kernel. For the names, see [`Chooser::next`].
    pub fn decide_unnumbered(
        &self,
        kernel: &str,
        display_name: impl FnOnce() -> Option<String>,
    ) -> Recorded {
        match () {
            () if !self.selects_kernel(kernel, display_name) => Recorded::OutOfScope,
            () if self.is_by_cta() => Recorded::SelectedCtas,
            () => Recorded::All,
        }
    }

    /// Returns whether a CTA is in the scope.
    pub fn is_cta_in_scope(&self, cta: u64) -> bool {
        let contains =
            |range: &CtaRange| (u64::from(range.first)..=u64::from(range.last)).contains(&cta);
        self.ctas.is_empty() || self.ctas.iter().any(contains)
    }

    /// Returns whether CTA `cta` of a recorded launch with `ctas` CTAs is recorded.
    pub fn takes_cta(&self, ctas: u64, cta: u64) -> bool {
        let sample = self.sample.filter(|sample| sample.unit == SampleUnit::Ctas);
        self.is_cta_in_scope(cta) && sample.is_none_or(|sample| sample.takes_cta(ctas, cta))
    }
}

/// Applies a selection to launches in host order.
#[derive(Debug, Default)]
pub struct Chooser {
    selection: Selection,
    /// Whether a kernel's name matches, and the number of its launches in the scope so far.
    kernels: HashMap<String, (bool, u64)>,
    matched: u64,
}

impl Chooser {
    /// Returns a chooser for the start of the program.
    pub fn new(selection: &Selection) -> Self {
        Chooser {
            selection: selection.clone(),
            ..Chooser::default()
        }
    }

    /// Decides whether to record the next launch. `kernel` is the kernel's mangled name; `display_name` returns the
    /// readable one.
    pub fn next(
        &mut self,
        kernel: &str,
        display_name: impl FnOnce() -> Option<String>,
    ) -> Recorded {
        let selection = &self.selection;
        if selection.is_everything() {
            return Recorded::All;
        }
        let (matches, in_scope) = (self.kernels.entry(kernel.to_owned()))
            .or_insert_with(|| (selection.selects_kernel(kernel, display_name), 0));
        if !*matches {
            return Recorded::OutOfScope;
        }
        let number = self.matched;
        self.matched += 1;
        let end = selection
            .launch_skip
            .saturating_add(selection.launch_count.unwrap_or(u64::MAX));
        if number < selection.launch_skip || number >= end {
            return Recorded::OutOfScope;
        }
        let index = *in_scope;
        *in_scope += 1;
        let launch_sample = (selection.sample).filter(|sample| sample.unit == SampleUnit::Launches);
        match launch_sample {
            Some(sample) if !sample.takes_launch(kernel, index) => Recorded::NotSampled,
            _ if selection.is_by_cta() => Recorded::SelectedCtas,
            _ => Recorded::All,
        }
    }
}

#[cfg(test)]
mod tests;
