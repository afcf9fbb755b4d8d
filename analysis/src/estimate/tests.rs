//! Tests for `estimate`.

use super::*;
use proptest::prelude::*;
use superstep_trace::digest::mix;

fn stratum(population: u64, observed: &[f64]) -> Stratum {
    Stratum {
        population,
        observed: observed.to_vec(),
    }
}

#[test]
fn a_census_has_no_error() {
    let exact = estimate(&[stratum(3, &[1.0, 2.0, 4.0])]);
    assert_eq!((exact.total, exact.standard_error), (Some(7.0), Some(0.0)));
    assert_eq!(exact.interval, Some([7.0, 7.0]));
    assert_eq!(estimate(&[]).total, Some(0.0));
}

#[test]
fn estimate_equals_a_result_derived_by_hand() {
    // N = 10, n = 4, mean 3, s² = (4 + 0 + 0 + 4) / 3: variance 100 · 0.6 · 8/3 / 4 = 40.
    let sample = estimate(&[stratum(10, &[1.0, 3.0, 3.0, 5.0])]);
    assert_eq!((sample.recorded, sample.total), (12.0, Some(30.0)));
    let error = sample.standard_error.unwrap();
    assert!((error - 40f64.sqrt()).abs() < 1e-12);
    let [low, high] = sample.interval.unwrap();
    assert!((low - 12.0).abs() < 1e-9, "below the recorded sum: {low}");
    assert!((high - (30.0 + 3.182 * error)).abs() < 1e-9);
}

#[test]
fn unknown_totals_and_errors_are_none() {
    let unknown = estimate(&[stratum(5, &[]), stratum(2, &[1.0, 1.0])]);
    assert_eq!(
        (unknown.recorded, unknown.total, unknown.interval),
        (2.0, None, None)
    );
    let single = estimate(&[stratum(5, &[2.0])]);
    assert_eq!(
        (single.total, single.standard_error, single.interval),
        (Some(10.0), None, None)
    );
}

#[test]
fn student_quantiles_equal_published_values() {
    for (dof, expected) in [
        (1.0, 12.706),
        (10.9, 2.228),
        (60.0, 2.000),
        (120.0, 1.980),
        (f64::INFINITY, 1.960),
    ] {
        let quantile = student_quantile(dof);
        assert!((quantile - expected).abs() < 2e-3, "{dof}: {quantile}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Over many samples of one population, the estimates scatter around the true total by their standard error, and
    /// about 95% of their intervals contain it.
    #[test]
    fn intervals_contain_the_true_total(
        values in prop::collection::vec(0u32..1000, 200..400),
        split in 50usize..150,
        percent in 15u64..60,
        seed: u64,
    ) {
        const SAMPLES: u64 = 400;
        let truth: f64 = values.iter().map(|&value| f64::from(value)).sum();
        let (mut sum, mut squares, mut estimated, mut hits) = (0.0, 0.0, 0.0, 0);
        for sample in 0..SAMPLES {
            let is_sampled = |unit: usize| mix(mix(seed ^ sample) ^ unit as u64) % 100 < percent;
            let part = |range: std::ops::Range<usize>| Stratum {
                population: range.len() as u64,
                observed: range.filter(|&unit| is_sampled(unit)).map(|unit| f64::from(values[unit])).collect(),
            };
            let estimate = estimate(&[part(0..split), part(split..values.len())]);
            let (total, error) = (estimate.total.unwrap(), estimate.standard_error.unwrap());
            sum += total - truth;
            squares += (total - truth).powi(2);
            estimated += error * error;
            let [low, high] = estimate.interval.unwrap();
            hits += u32::from((low..=high).contains(&truth));
        }
        let samples = SAMPLES as f64;
        let (bias, spread, estimated) = (sum / samples, (squares / samples).sqrt(), (estimated / samples).sqrt());
        // The mean of the samples scatters with a standard deviation of spread / √400.
        prop_assert!(bias.abs() < 5.0 * spread / samples.sqrt(), "biased by {bias}, spread {spread}");
        prop_assert!((0.8..1.25).contains(&(estimated / spread)), "estimated error {estimated}, actual {spread}");
        prop_assert!(hits >= 355, "{hits} of 400 intervals contain the true total");
    }
}
