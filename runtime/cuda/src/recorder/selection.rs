//! The selection of launches and CTAs in the form that the device reads (`device/selection.h`).

use super::runtime::session;
use crate::cuda::CudaError;
use crate::cuda::memory::device_words;
use superstep_trace::{Recorded, Sample, SampleUnit, Selection};

/// Bits of the second trailing parameter: record nothing, or only the selected CTAs.
pub const SKIPPED: u64 = 1 << 63;
pub const BY_CTA: u64 = 1 << 62;

pub fn launch_bits(recorded: Recorded) -> u64 {
    match recorded {
        Recorded::All => 0,
        Recorded::SelectedCtas => BY_CTA,
        Recorded::OutOfScope | Recorded::NotSampled => SKIPPED,
    }
}

/// Writes the words for `superstep_takes_cta` to the device; returns their address, or 0 if no launch needs them.
pub fn device_selection() -> Result<u64, CudaError> {
    let selection = &session().config().selection;
    if selection.is_by_cta() {
        device_words(&words(selection))
    } else {
        Ok(0)
    }
}

pub fn words(selection: &Selection) -> Vec<u64> {
    let samples_ctas = |sample: &Sample| sample.unit == SampleUnit::Ctas;
    let (seed, threshold) = (selection.sample.filter(samples_ctas))
        .map_or((0, 1 << 32), |sample| (sample.seed, sample.threshold()));
    let mut words = vec![seed, threshold, selection.ctas.len() as u64];
    for range in &selection.ctas {
        words.extend([u64::from(range.first), u64::from(range.last)]);
    }
    words
}

#[cfg(test)]
mod tests;
