//! What the device needs to know about the selection: `device/selection.h`.

use crate::cuda::device::device_words;
use crate::recorder::runtime::runtime;
use superstep_trace::{Recorded, Sample, SampleUnit, Selection};

/// Bit of the second trailing parameter: nothing of the launch is recorded.
pub const SKIPPED: u64 = 1 << 63;
/// Bit of the second trailing parameter: only CTAs that the selection takes.
pub const BY_CTA: u64 = 1 << 62;

/// The bits for a launch.
pub fn launch_bits(recorded: Recorded) -> u64 {
    match recorded {
        Recorded::All => 0,
        Recorded::SelectedCtas => BY_CTA,
        Recorded::OutOfScope | Recorded::NotSampled => SKIPPED,
    }
}

/// The device's address of what `superstep_takes_cta` reads; 0 when no launch asks.
pub fn device_selection() -> Result<u64, String> {
    let selection = &runtime().session.config().selection;
    match selection.is_by_cta() {
        true => device_words(&words(selection)),
        false => Ok(0),
    }
}

pub fn words(selection: &Selection) -> Vec<u64> {
    let of_ctas = |sample: &Sample| sample.unit == SampleUnit::Ctas;
    let (seed, threshold) = (selection.sample.filter(of_ctas))
        .map_or((0, 1 << 32), |sample| (sample.seed, sample.threshold()));
    let mut words = vec![seed, threshold, selection.ctas.len() as u64];
    for range in &selection.ctas {
        words.extend([u64::from(range.first), u64::from(range.last)]);
    }
    words
}

#[cfg(test)]
mod tests;
