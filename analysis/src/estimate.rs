//! Totals of a population from a sample of it, with their error.
//!
//! Every unit of a stratum is taken with the same probability, independently of the others. Given how many were taken, that
//! is simple random sampling without replacement, so with *N* units of which *n* were taken, with mean *m* and variance *s*²
//! of the observed values:
//!
//! - estimated total: *N m*
//! - its variance: *N*² (1 − *n*/*N*) *s*² / *n* (Cochran, *Sampling Techniques*, 3rd edition, 1977, theorem 2.2)
//!
//! Strata are independent: totals and variances add up. The 95 % interval uses Student's distribution with the degrees of
//! freedom of Satterthwaite (Biometrics Bulletin 2, 1946).

use serde::{Deserialize, Serialize};

/// Units that are alike enough to stand for each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stratum {
    /// Units that there are.
    pub population: u64,
    /// Values of those that were taken.
    pub observed: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Sum of the observed values.
    pub recorded: f64,
    /// The estimated total; `None` when of some stratum nothing was taken.
    pub total: Option<f64>,
    /// Standard error of the total; `None` when a stratum of several units has only one observation, which tells nothing
    /// about the error.
    pub standard_error: Option<f64>,
    /// Ends of the 95 % interval, never below what was recorded.
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
    let freedom = if squares > 0.0 {
        variance * variance / squares
    } else {
        f64::INFINITY
    };
    Estimate {
        recorded,
        total: known.then_some(total),
        standard_error,
        interval: standard_error.map(|error| {
            let reach = student_quantile(freedom) * error;
            [(total - reach).max(recorded), total + reach]
        }),
    }
}

/// The 97.5 % quantile of Student's distribution: exact to three digits, rounded up between whole degrees of freedom.
fn student_quantile(freedom: f64) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    let whole = freedom.floor().max(1.0);
    if whole <= 30.0 {
        TABLE[whole as usize - 1]
    } else {
        // The first terms of the expansion in 1/freedom around the normal distribution's.
        1.960 + 2.372 / whole + 2.823 / (whole * whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::mixed;
    use proptest::prelude::*;

    fn stratum(population: u64, observed: &[f64]) -> Stratum {
        Stratum {
            population,
            observed: observed.to_vec(),
        }
    }

    #[test]
    fn a_census_has_no_error() {
        let all = estimate(&[stratum(3, &[1.0, 2.0, 4.0])]);
        assert_eq!((all.total, all.standard_error), (Some(7.0), Some(0.0)));
        assert_eq!(all.interval, Some([7.0, 7.0]));
        assert_eq!(estimate(&[]).total, Some(0.0));
    }

    #[test]
    fn worked_by_hand() {
        // N = 10, n = 4, mean 3, s² = (4 + 0 + 0 + 4) / 3: variance 100 · 0.6 · 8/3 / 4 = 40.
        let some = estimate(&[stratum(10, &[1.0, 3.0, 3.0, 5.0])]);
        assert_eq!((some.recorded, some.total), (12.0, Some(30.0)));
        let error = some.standard_error.unwrap();
        assert!((error - 40f64.sqrt()).abs() < 1e-12);
        let [low, high] = some.interval.unwrap();
        assert!(
            (low - 12.0).abs() < 1e-9,
            "not below what was recorded: {low}"
        );
        assert!((high - (30.0 + 3.182 * error)).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_known_is_not_made_up() {
        let none = estimate(&[stratum(5, &[]), stratum(2, &[1.0, 1.0])]);
        assert_eq!(
            (none.recorded, none.total, none.interval),
            (2.0, None, None)
        );
        let one = estimate(&[stratum(5, &[2.0])]);
        assert_eq!(
            (one.total, one.standard_error, one.interval),
            (Some(10.0), None, None)
        );
    }

    #[test]
    fn student_s_quantiles() {
        for (freedom, expected) in [
            (1.0, 12.706),
            (10.9, 2.228),
            (60.0, 2.000),
            (120.0, 1.980),
            (f64::INFINITY, 1.960),
        ] {
            let quantile = student_quantile(freedom);
            assert!((quantile - expected).abs() < 2e-3, "{freedom}: {quantile}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        /// Over many samples of one population the estimates scatter around the truth, by as much as they say, and their
        /// intervals hold it nearly as often as they promise.
        #[test]
        fn the_error_is_what_it_says(
            values in prop::collection::vec(0u32..1000, 200..400),
            split in 50usize..150,
            percent in 15u64..60,
            seed: u64,
        ) {
            const SAMPLES: u64 = 400;
            let truth: f64 = values.iter().map(|&value| f64::from(value)).sum();
            let (mut sum, mut squares, mut said, mut held) = (0.0, 0.0, 0.0, 0);
            for sample in 0..SAMPLES {
                let taken = |unit: usize| mixed(mixed(seed ^ sample) ^ unit as u64) % 100 < percent;
                let part = |range: std::ops::Range<usize>| Stratum {
                    population: range.len() as u64,
                    observed: range.filter(|&unit| taken(unit)).map(|unit| f64::from(values[unit])).collect(),
                };
                let estimate = estimate(&[part(0..split), part(split..values.len())]);
                let (total, error) = (estimate.total.unwrap(), estimate.standard_error.unwrap());
                sum += total - truth;
                squares += (total - truth).powi(2);
                said += error * error;
                let [low, high] = estimate.interval.unwrap();
                held += u32::from((low..=high).contains(&truth));
            }
            let samples = SAMPLES as f64;
            let (bias, spread, said) = (sum / samples, (squares / samples).sqrt(), (said / samples).sqrt());
            // The mean of the samples scatters by spread / √400.
            prop_assert!(bias.abs() < 5.0 * spread / samples.sqrt(), "biased by {bias}, spread {spread}");
            prop_assert!((0.8..1.25).contains(&(said / spread)), "says {said}, scatters by {spread}");
            prop_assert!(held >= 355, "{held} of 400 intervals hold the truth");
        }
    }
}
