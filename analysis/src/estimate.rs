//! Estimates the totals of a population from a sample, with standard errors.
//!
//! Every unit in a stratum is sampled with the same probability, independently of the others. For a given sample size,
//! that is simple random sampling without replacement. With *N* units of which *n* were sampled, and mean *m* and
//! variance *s*² of the observed values:
//!
//! - estimated total: *N m*
//! - its variance: *N*² (1 − *n*/*N*) *s*² / *n* (Cochran, *Sampling Techniques*, 3rd edition, 1977, theorem 2.2)
//!
//! Strata are independent, so their totals and variances add. The 95% confidence interval uses Student's
//! t-distribution with Satterthwaite's degrees of freedom (Biometrics Bulletin 2, 1946).

use serde::{Deserialize, Serialize};

/// Units that are similar enough to represent each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stratum {
    /// Number of units.
    pub population: u64,
    /// Values of the sampled units.
    pub observed: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Sum of the observed values.
    pub recorded: f64,
    /// Estimated total; `None` if any stratum has no sampled units.
    pub total: Option<f64>,
    /// Standard error of the total; `None` if any stratum has multiple units but only one observation, which gives no
    /// variance.
    pub standard_error: Option<f64>,
    /// Bounds of the 95% confidence interval, never below `recorded`.
    pub interval: Option<[f64; 2]>,
}

pub fn estimate<'a>(strata: impl IntoIterator<Item = &'a Stratum>) -> Estimate {
    let (mut recorded, mut total, mut known) = (0.0, 0.0, true);
    let (mut variance, mut error_known, mut squares) = (0.0, true, 0.0);
    for stratum in strata {
        let (n, population) = (stratum.observed.len() as f64, stratum.population as f64);
        let sum: f64 = stratum.observed.iter().sum();
        recorded += sum;
        if stratum.observed.len() as u64 >= stratum.population {
            total += sum;
            continue;
        }
        if stratum.observed.is_empty() {
            known = false;
            continue;
        }
        let mean = sum / n;
        total += population * mean;
        if stratum.observed.len() < 2 {
            error_known = false;
            continue;
        }
        let deviations = stratum.observed.iter().map(|value| (value - mean).powi(2));
        let spread = deviations.sum::<f64>() / (n - 1.0);
        let part = population * population * (1.0 - n / population) * spread / n;
        variance += part;
        squares += part * part / (n - 1.0);
    }
    let standard_error = (known && error_known).then(|| variance.sqrt());
    let degrees_of_freedom = if squares > 0.0 {
        variance * variance / squares
    } else {
        f64::INFINITY
    };
    Estimate {
        recorded,
        total: known.then_some(total),
        standard_error,
        interval: standard_error.map(|error| {
            let margin = student_quantile(degrees_of_freedom) * error;
            [(total - margin).max(recorded), total + margin]
        }),
    }
}

/// Returns the 97.5% quantile of Student's t-distribution to three decimals; `degrees_of_freedom` is rounded down.
fn student_quantile(degrees_of_freedom: f64) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    let whole = degrees_of_freedom.floor().max(1.0);
    if whole <= 30.0 {
        TABLE[whole as usize - 1]
    } else {
        // First terms of the expansion in 1/degrees_of_freedom around the quantile of the normal distribution.
        1.960 + 2.372 / whole + 2.823 / (whole * whole)
    }
}

#[cfg(test)]
mod tests;
