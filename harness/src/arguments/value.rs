//! Values of options that the command line reads from a text.

use std::str::FromStr;
use std::time::Duration;

/// A text that an option does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found `{found}`")]
pub struct InvalidValue {
    pub expected: &'static str,
    pub found: String,
}

impl InvalidValue {
    pub fn new(expected: &'static str, found: &str) -> Self {
        Self {
            expected,
            found: found.to_owned(),
        }
    }
}

/// A number of bytes: `2GB`, `512MiB`, `1.5G` or `4096`. Units are powers of 1000, and of 1024 with an `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize {
    pub bytes: u64,
}

impl FromStr for ByteSize {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || InvalidValue::new("a size like 2GB, 512MiB or 4096", text);
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(at.unwrap_or(text.len()));
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1.0,
            "k" | "kb" => 1e3,
            "m" | "mb" => 1e6,
            "g" | "gb" => 1e9,
            "t" | "tb" => 1e12,
            "kib" => 1024.0,
            "mib" => 1024.0 * 1024.0,
            "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        let bytes = number * factor;
        if !(1.0..1e18).contains(&bytes) {
            return Err(wrong());
        }
        Ok(ByteSize {
            bytes: bytes as u64,
        })
    }
}

/// A GPU architecture, `sm_90` or `90`, as a number.
pub fn gpu_arch(text: &str) -> Result<u32, InvalidValue> {
    let digits = text.trim().strip_prefix("sm_").unwrap_or(text.trim());
    let arch = digits.parse().ok().filter(|arch| (50..1000).contains(arch));
    arch.ok_or_else(|| InvalidValue::new("a GPU architecture, sm_90 or 90", text))
}

/// A time above zero, in seconds.
pub fn seconds(text: &str) -> Result<Duration, InvalidValue> {
    let seconds = text.parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| InvalidValue::new("a number of seconds above 0", text))
}

/// A number of at least zero.
pub fn not_negative(text: &str) -> Result<f64, InvalidValue> {
    let number = text.parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| InvalidValue::new("a number of at least 0", text))
}

/// A bandwidth in GB/s.
pub fn bandwidth(text: &str) -> Result<f64, InvalidValue> {
    let number = text.trim().parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
        .ok_or_else(|| InvalidValue::new("a number of GB/s above 0, as in 64 or 25.6", text))
}

#[cfg(test)]
mod tests;
