//! Tests of `config`.

use super::*;

fn config(pairs: &[(&str, &str)]) -> Result<Config, RuntimeError> {
    Config::from_lookup(|name| {
        pairs
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn nothing_set_asks_for_nothing() {
    assert_eq!(config(&[]).unwrap(), Config::default());
    assert_eq!(
        config(&[("SUPERSTEP_CAPTURE", "")]).unwrap(),
        Config::default()
    );
}

#[test]
fn everything_is_read() {
    let read = config(&[
        ("SUPERSTEP_CAPTURE", "a/capture"),
        ("SUPERSTEP_SUMMARY", "{process}.json"),
        ("SUPERSTEP_CPU_THREADS", "2"),
        ("SUPERSTEP_PROTOCOL", "thesis"),
        ("SUPERSTEP_BINS", "128"),
        ("SUPERSTEP_BIN_RECORDS", "1000"),
        ("SUPERSTEP_SHADOW_MEMORY", "4096"),
        ("SUPERSTEP_SOURCES", r#"{"a.cu": "00"}"#),
        ("SUPERSTEP_KERNEL", "hot*"),
        ("SUPERSTEP_LAUNCH_SKIP", "3"),
        ("SUPERSTEP_LAUNCH_COUNT", "2"),
        ("SUPERSTEP_CTAS", "0-3"),
        ("SUPERSTEP_SAMPLE_CTAS", "0.5"),
        ("SUPERSTEP_SAMPLE_SEED", "7"),
        ("SUPERSTEP_CTA_BLOCKS", "64"),
        ("SUPERSTEP_PROBE_RESULTS", "r"),
        ("SUPERSTEP_PROBE_THREADS", "1"),
        ("SUPERSTEP_PROBE_PARAMETERS", "5, 6"),
    ]);
    let expected = Config {
        capture: Some(Place::One("a/capture".into())),
        summary: Some(Place::Each("{process}.json".into())),
        cpu_threads: NonZeroUsize::new(2),
        protocol: Some(Protocol::Thesis),
        bins: Some(128),
        bin_records: Some(1000),
        shadow_memory: Some(4096),
        sources: BTreeMap::from([("a.cu".to_owned(), "00".to_owned())]),
        selection: Selection {
            kernel: "hot*".parse().ok(),
            launch_skip: 3,
            launch_count: Some(2),
            ctas: vec![CtaRange { first: 0, last: 3 }],
            sample: Sample::parse(SampleUnit::Ctas, "0.5", 7).ok(),
        },
        cta_blocks: "64".parse().unwrap_or_default(),
        probe_results: Some(Place::One("r".into())),
        probe_threads: KeepThreads::All,
        probe_parameters: vec![5, 6],
    };
    assert_eq!(read.unwrap(), expected);
}

#[test]
fn launches_or_ctas_are_sampled() {
    let both = [
        ("SUPERSTEP_SAMPLE_LAUNCHES", "0.5"),
        ("SUPERSTEP_SAMPLE_CTAS", "0.5"),
    ];
    let error = config(&both).unwrap_err().to_string();
    assert!(error.contains("not both"), "{error}");
}

#[test]
fn unusable_values_are_named() {
    for (name, value) in [
        ("SUPERSTEP_CPU_THREADS", "0"),
        ("SUPERSTEP_CPU_THREADS", "many"),
        ("SUPERSTEP_PROTOCOL", "fast"),
        ("SUPERSTEP_BINS", "3"),
        ("SUPERSTEP_BIN_RECORDS", "-1"),
        ("SUPERSTEP_SHADOW_MEMORY", "8GiB"),
        ("SUPERSTEP_SOURCES", "a.cu"),
        ("SUPERSTEP_KERNEL", "regex:("),
        ("SUPERSTEP_LAUNCH_SKIP", "-1"),
        ("SUPERSTEP_CTAS", "5-2"),
        ("SUPERSTEP_SAMPLE_LAUNCHES", "2"),
        ("SUPERSTEP_CTA_BLOCKS", "48"),
        ("SUPERSTEP_PROBE_THREADS", "2"),
        ("SUPERSTEP_PROBE_PARAMETERS", "1,x"),
    ] {
        let error = config(&[(name, value)]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("failed to read {name}={value:?}: expected ")),
            "{error}"
        );
    }
}
