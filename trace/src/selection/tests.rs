//! Tests of names, ranges, and sampling statistics.

use super::*;
use proptest::prelude::*;

fn chosen(selection: &Selection, kernels: &[&str]) -> Vec<Recorded> {
    let mut chooser = Chooser::new(selection);
    let display = |name: &str| name.strip_prefix("_Z").map(str::to_owned);
    kernels
        .iter()
        .map(|kernel| chooser.next(kernel, || display(kernel)))
        .collect()
}

fn kernel(pattern: &str) -> Selection {
    Selection {
        kernel: Some(pattern.parse().unwrap()),
        ..Selection::default()
    }
}

#[test]
fn default_records_everything() {
    let everything = Selection::default();
    assert!(everything.is_everything() && everything.takes_cta(10, 9));
    assert_eq!(chosen(&everything, &["a", "b"]), [Recorded::All; 2]);
    let json = serde_json::to_string(&everything).unwrap();
    assert_eq!(
        serde_json::from_str::<Selection>(&json).unwrap(),
        everything
    );
}

#[test]
fn kernels_are_matched_by_either_name() {
    use Recorded::{All, OutOfScope};
    let names = ["_Zhotspot", "_Zhot(int)", "_Zbfs"];
    for (pattern, expected) in [
        ("hot*", [All, All, OutOfScope]),
        ("hot?pot", [All, OutOfScope, OutOfScope]),
        ("_Zbfs", [OutOfScope, OutOfScope, All]),
        ("hot(int)", [OutOfScope, All, OutOfScope]),
        ("regex:s$", [OutOfScope, OutOfScope, All]),
        ("ot", [OutOfScope; 3]),
    ] {
        assert_eq!(chosen(&kernel(pattern), &names), expected, "{pattern}");
    }
}

#[test]
fn launches_are_skipped_and_counted_among_those_that_match() {
    use Recorded::{All, OutOfScope};
    let selection = Selection {
        launch_skip: 1,
        launch_count: Some(2),
        ..kernel("a")
    };
    assert_eq!(
        chosen(&selection, &["a", "b", "a", "b", "a", "a"]),
        [OutOfScope, OutOfScope, All, OutOfScope, All, OutOfScope]
    );
}

#[test]
fn ranges_and_rates_are_parsed_or_refused() {
    let ranges = CtaRange::parse_list("0-15, 40").unwrap();
    assert_eq!(
        ranges.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["0-15", "40"]
    );
    let selection = Selection {
        ctas: ranges,
        ..Selection::default()
    };
    let sampled: Vec<_> = (0..100)
        .filter(|&cta| selection.takes_cta(100, cta))
        .collect();
    assert_eq!(sampled, (0..16).chain([40]).collect::<Vec<_>>());
    assert_eq!(chosen(&selection, &["a"]), [Recorded::SelectedCtas]);
    for text in ["", "3-1", "a", "1,,2", "-1"] {
        assert!(CtaRange::parse_list(text).is_err(), "{text}");
    }
    for rate in ["0", "1.5", "-1", "x", "nan"] {
        assert!(Sample::parse(SampleUnit::Ctas, rate, 1).is_err(), "{rate}");
    }
    assert_eq!(
        Sample::parse(SampleUnit::Ctas, "0.25", 1).unwrap().rate(),
        0.25
    );
}

#[test]
fn unnumbered_launches_are_selected_by_kernel_and_cta_only() {
    let name = || Some("step".to_owned());
    let decide = |selection: Selection| selection.decide_unnumbered("_Z4stepv", name);
    let kernel = |pattern: &str| Some(pattern.parse().unwrap());
    let ctas = CtaRange::parse_list("0-3").unwrap();
    let numbered = Selection {
        launch_skip: 5,
        sample: Some(Sample::parse(SampleUnit::Launches, "0.001", 1).unwrap()),
        kernel: kernel("step"),
        ..Selection::default()
    };
    assert_eq!(decide(numbered.clone()), Recorded::All);
    let by_cta = Selection { ctas, ..numbered };
    assert_eq!(decide(by_cta.clone()), Recorded::SelectedCtas);
    let other = Selection {
        kernel: kernel("other"),
        ..by_cta
    };
    assert_eq!(decide(other), Recorded::OutOfScope);
}

#[test]
fn small_grids_and_first_launches_are_always_sampled() {
    let sample = Sample::parse(SampleUnit::Ctas, "0.001", 3).unwrap();
    assert!((0..8).all(|cta| sample.takes_cta(8, cta)));
    let sampled = (0..1000).filter(|&cta| sample.takes_cta(1000, cta)).count();
    assert!((1..30).contains(&sampled), "{sampled}");
    assert!((0..8).all(|index| sample.takes_launch("k", index)));
    assert!(!(8..40).all(|index| sample.takes_launch("k", index)));
}

#[test]
fn host_and_device_hashes_agree() {
    // The CUDA runtime's device_code test, which compiles `selection.h`, expects the same values.
    let sample = Sample::parse(SampleUnit::Ctas, "0.5", 42).unwrap();
    let sampled: u32 = (0..32)
        .map(|cta| u32::from(sample.takes_cta(100, cta)) << cta)
        .sum();
    assert_eq!(sampled, SAMPLED_OF_100, "{sampled:#x}");
}
const SAMPLED_OF_100: u32 = 0x5d5c_99c2;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The size of a sample is within six standard deviations of its mean, for any seed, rate and grid.
    #[test]
    fn sample_has_about_the_expected_size(seed: u64, millionths in 1u32..=1_000_000, ctas in 100u64..20_000) {
        let sample = Sample { unit: SampleUnit::Ctas, rate_per_million: millionths, seed };
        let sampled = (0..ctas).filter(|&cta| sample.takes_cta(ctas, cta)).count() as f64;
        let rate = sample.rate().max(MIN_SAMPLED as f64 / ctas as f64).min(1.0);
        let (mean, deviation) = (rate * ctas as f64, (rate * (1.0 - rate) * ctas as f64).sqrt());
        prop_assert!((sampled - mean).abs() <= 6.0 * deviation + 1.0, "{sampled} of {ctas} sampled at rate {rate}");
    }
}
