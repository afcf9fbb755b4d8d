//! Parsers for the values of options.

use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use superstep_analysis::communication::Matching;
use superstep_trace::Backend;

/// Invalid value of an option; clap prefixes the message with the name of the option.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found `{found}`")]
pub struct InvalidValue {
    expected: &'static str,
    found: String,
}

pub fn invalid(expected: &'static str, found: &str) -> InvalidValue {
    let found = found.to_owned();
    InvalidValue { expected, found }
}

/// Returns a parser for values, each with its name and description.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    values: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let names = values.iter();
    let names = names.map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names.collect::<Vec<_>>()).map(move |found: String| {
        let mut values = values.iter();
        let value = values.find(|(name, ..)| *name == found);
        value.expect("clap accepts only these names").2
    })
}

/// Backend that runs the kernels; `None` means a GPU if there is one, otherwise the CPU.
#[derive(Debug, Clone, Copy)]
pub struct BackendChoice(pub Option<Backend>);

pub fn backend() -> impl TypedValueParser<Value = BackendChoice> {
    one_of(&[
        (
            "auto",
            "The default: on a GPU if there is one, otherwise on the CPU; a bundle is always built for a GPU",
            BackendChoice(None),
        ),
        (
            "cpu",
            "On the CPU, as x86 code",
            BackendChoice(Some(Backend::Cpu)),
        ),
        (
            "cuda",
            "On an NVIDIA GPU",
            BackendChoice(Some(Backend::Cuda)),
        ),
    ])
}

pub fn matching() -> impl TypedValueParser<Value = Matching> {
    one_of(&[
        (
            "bytes",
            "A read of a byte that another CTA wrote",
            Matching::Bytes,
        ),
        (
            "exact-address",
            "A read at an address that another CTA wrote to, regardless of the access widths",
            Matching::ExactAddress,
        ),
    ])
}

/// A number of bytes: `2GB`, `512MiB`, `1.5G` or `4096`. Units are powers of 1000, or of 1024 with an `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize {
    pub bytes: u64,
}

impl FromStr for ByteSize {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let invalid = || invalid("a size like 2GB, 512MiB or 4096", text);
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(at.unwrap_or(text.len()));
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1e3,
            "m" | "mb" => 1e6,
            "g" | "gb" => 1e9,
            "t" | "tb" => 1e12,
            "kib" => 1024.0,
            "mib" => 1024.0 * 1024.0,
            "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(invalid()),
        };
        let bytes = number * factor;
        if !(1.0..1e18).contains(&bytes) {
            return Err(invalid());
        }
        Ok(ByteSize {
            bytes: bytes as u64,
        })
    }
}

pub fn gpu_arch(text: &str) -> Result<u32, InvalidValue> {
    let digits = text.trim().strip_prefix("sm_").unwrap_or(text.trim());
    let arch = digits.parse().ok().filter(|arch| (50..1000).contains(arch));
    arch.ok_or_else(|| invalid("a GPU architecture, such as sm_90 or 90", text))
}

fn number(text: &str, expected: &'static str, fits: fn(f64) -> bool) -> Result<f64, InvalidValue> {
    let number = text.trim().parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && fits(*number))
        .ok_or_else(|| invalid(expected, text))
}

pub fn seconds(text: &str) -> Result<Duration, InvalidValue> {
    let seconds = text.trim().parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| invalid("a number of seconds above 0", text))
}

pub fn non_negative(text: &str) -> Result<f64, InvalidValue> {
    number(text, "a number of at least 0", |number| number >= 0.0)
}

pub fn bandwidth(text: &str) -> Result<f64, InvalidValue> {
    let expected = "a number of GB/s above 0, such as 64 or 25.6";
    number(text, expected, |number| number > 0.0)
}

#[cfg(test)]
mod tests;
