//! Plot scales: their endpoints, their ticks, and the formatting of their values.

use super::numbers::{bytes, percent};
use crate::html::grouped;

/// The values on a scale.
#[derive(Clone, Copy, Debug, Default)]
pub enum Values {
    /// Bands of width 1, each with a name as its tick.
    #[default]
    Names,
    /// Bands of width 1, numbered from 0.
    Numbers,
    /// Numbers, with the function that formats them.
    Continuous(fn(f64) -> String),
}

#[derive(Clone, Debug, Default)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub logarithmic: bool,
    pub values: Values,
    pub ticks: Vec<(f64, String)>,
    /// Name and unit of the values.
    pub label: String,
}

impl Scale {
    pub fn new(low: f64, high: f64, label: &str, ticks: Vec<(f64, String)>) -> Self {
        Self {
            low,
            high,
            ticks,
            label: label.to_owned(),
            ..Self::default()
        }
    }

    fn showing(self, show: fn(f64) -> String) -> Self {
        let values = Values::Continuous(show);
        Self { values, ..self }
    }

    /// Returns a scale with one band of width 1 for each name, labelled at its centre.
    pub fn bands(names: impl IntoIterator<Item = String>, label: &str) -> Self {
        let middles = (0..).map(|index| f64::from(index) + 0.5);
        let ticks: Vec<_> = middles.zip(names).collect();
        Self::new(0.0, ticks.len().max(1) as f64, label, ticks)
    }

    pub fn shares(label: &str) -> Self {
        let tick = |quarter| (f64::from(quarter) / 4.0, format!("{} %", 25 * quarter));
        Self::new(0.0, 1.0, label, (0..=4).map(tick).collect()).showing(percent)
    }

    /// Returns a scale from 0 to at least `max`, with round ticks.
    pub fn linear(max: f64, label: &str, show: fn(f64) -> String) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = round_step(max);
        Self::stepped(0.0, (max / step).ceil() * step, step, label, show)
    }

    /// Returns a scale of bytes from 0 to at least `max`, with ticks that are round in their unit.
    pub fn bytes(max: f64, label: &str) -> Self {
        let max = max.max(1.0);
        let unit = 1024f64.powf(max.log(1024.0).floor());
        let step = round_step(max / unit) * unit;
        Self::stepped(0.0, (max / step).ceil() * step, step, label, bytes)
    }

    /// Returns a scale from exactly `low` to `high`, with round ticks.
    pub fn within(low: f64, high: f64, label: &str, show: fn(f64) -> String) -> Self {
        Self::stepped(low, high, round_step(high - low), label, show)
    }

    fn stepped(low: f64, high: f64, step: f64, label: &str, show: fn(f64) -> String) -> Self {
        let first = (low / step).ceil();
        let values = (0..).map(|k| (first + f64::from(k)) * step);
        let ticks = values.take_while(|&value| value <= high);
        Self::new(low, high, label, ticks.map(|v| (v, show(v))).collect()).showing(show)
    }

    /// Returns a scale of the integers below `count`, each in its own band, with as many labels as fit.
    pub fn numbers(count: u64, label: &str) -> Self {
        let mut steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].into_iter();
        let step = steps.find(|step| count / step <= 10);
        let numbers = (0..count).step_by(step.unwrap_or(count / 10) as usize);
        let ticks = numbers.map(|k| (k as f64 + 0.5, grouped(k))).collect();
        Self {
            values: Values::Numbers,
            ..Self::new(0.0, count.max(1) as f64, label, ticks)
        }
    }

    /// Returns a logarithmic scale between powers of 2 that enclose `low` and `high`, both positive.
    pub fn powers(low: f64, high: f64, label: &str, show: fn(f64) -> String) -> Self {
        let first = (low.log2() + 1e-9).floor();
        let last = (high.log2() - 1e-9).ceil().max(first + 1.0);
        let step = ((last - first) / 5.0).ceil() as usize;
        let shown = (0..=(last - first) as i32).step_by(step);
        let values = shown.map(|k| (first + f64::from(k)).exp2());
        let ticks = values.map(|value| (value, show(value))).collect();
        Self {
            logarithmic: true,
            ..Self::new(first.exp2(), last.exp2(), label, ticks).showing(show)
        }
    }

    pub(super) fn is_continuous(&self) -> bool {
        matches!(self.values, Values::Continuous(_))
    }

    /// Formats a value, or names the band that contains it.
    pub(super) fn text(&self, value: f64) -> String {
        let contains_value = |tick: &&(f64, String)| tick.0.floor() == value.floor();
        match self.values {
            Values::Continuous(show) => show(value),
            Values::Numbers => format!("{} {}", self.label, grouped(value as u64)),
            Values::Names => (self.ticks.iter().find(contains_value))
                .map_or(String::new(), |(_, name)| name.clone()),
        }
    }

    /// Returns the position of a value: 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        place.clamp(0.0, 1.0)
    }
}

/// Returns the smallest round step that fits at most five times into `length`, which must be positive.
fn round_step(length: f64) -> f64 {
    let unit = 10f64.powf((length / 4.0).log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * unit).into_iter();
    steps
        .filter(|&step| length / step <= 5.0)
        .fold(f64::INFINITY, f64::min)
}
