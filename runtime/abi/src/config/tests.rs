//! Tests for `config`.

use super::*;

fn config(pairs: &[(&str, &str)]) -> Result<Config, VariableError> {
    Config::from_env(|name| {
        pairs
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn empty_variables_count_as_absent() {
    assert_eq!(config(&[]).unwrap(), Config::default());
    assert_eq!(
        config(&[("SUPERSTEP_CAPTURE", "")]).unwrap(),
        Config::default()
    );
}

#[test]
fn each_variable_is_read_and_written() {
    let mut pairs = [
        ("SUPERSTEP_CAPTURE", "a/capture"),
        ("SUPERSTEP_SUMMARY", "{process}.json"),
        ("SUPERSTEP_CPU_THREADS", "2"),
        ("SUPERSTEP_CPU_DEVICES", "64"),
        ("SUPERSTEP_CPU_STACK_KIB", "512"),
        ("SUPERSTEP_CPU_FIBERS", "1"),
        ("SUPERSTEP_PROTOCOL", "thesis"),
        ("SUPERSTEP_BINS", "128"),
        ("SUPERSTEP_BIN_RECORDS", "1000"),
        ("SUPERSTEP_RING_PIECES", "8"),
        ("SUPERSTEP_HOST_PIECES", "3"),
        ("SUPERSTEP_WORKERS", "5"),
        ("SUPERSTEP_SINK", "count"),
        ("SUPERSTEP_CONSUMER_PAUSE_US", "300"),
        ("SUPERSTEP_WATCHDOG_S", "0"),
        ("SUPERSTEP_SHADOW_MEMORY", "4096"),
        ("SUPERSTEP_SOURCES", r#"{"a.cu":"00"}"#),
        ("SUPERSTEP_KERNEL", "hot*"),
        ("SUPERSTEP_LAUNCH_SKIP", "3"),
        ("SUPERSTEP_LAUNCH_COUNT", "2"),
        ("SUPERSTEP_CTAS", "0-3"),
        ("SUPERSTEP_SAMPLE_CTAS", "0.5"),
        ("SUPERSTEP_SAMPLE_SEED", "7"),
        ("SUPERSTEP_CTA_BLOCKS", "64"),
        ("SUPERSTEP_PROBE_RESULTS", "r"),
        ("SUPERSTEP_PROBE_THREADS", "1"),
        ("SUPERSTEP_PROBE_PARAMETERS", "5,6"),
    ];
    let expected = Config {
        capture: Some("a/capture".into()),
        summary: Some("{process}.json".into()),
        cpu_threads: NonZeroUsize::new(2),
        cpu_devices: Some(64),
        cpu_stack_kib: Some(512),
        cpu_fibers: true,
        protocol: Some(Protocol::Thesis),
        bins: Some(128),
        bin_records: NonZeroU32::new(1000),
        ring_pieces: NonZeroUsize::new(8),
        host_pieces: NonZeroUsize::new(3),
        workers: NonZeroUsize::new(5),
        sink: RecordSink::Count,
        consumer_pause: Duration::from_micros(300),
        watchdog: Some(Duration::ZERO),
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
        probe_results: Some("r".into()),
        probe_threads: KeepThreads::All,
        probe_parameters: vec![5, 6],
    };
    assert_eq!(config(&pairs).unwrap(), expected);
    let mut written = expected.to_env();
    written.sort();
    pairs.sort_unstable();
    assert_eq!(written, pairs.map(|(name, value)| (name, value.into())));
    assert_eq!(Config::default().to_env(), []);
}

#[test]
fn other_value_of_probe_threads_is_a_file() {
    let pairs = [("SUPERSTEP_PROBE_THREADS", "places.json")];
    let read = config(&pairs).unwrap();
    assert_eq!(read.probe_threads, KeepThreads::At("places.json".into()));
    assert_eq!(
        read.to_env(),
        pairs.map(|(name, value)| (name, value.into()))
    );
}

#[test]
fn sampling_both_launches_and_ctas_is_an_error() {
    let pairs = [
        ("SUPERSTEP_SAMPLE_LAUNCHES", "0.5"),
        ("SUPERSTEP_SAMPLE_CTAS", "0.5"),
    ];
    let error = config(&pairs).unwrap_err().to_string();
    assert!(error.contains("not both"), "{error}");
}

#[test]
fn errors_name_invalid_values() {
    for (name, value) in [
        ("SUPERSTEP_CPU_THREADS", "0"),
        ("SUPERSTEP_CPU_THREADS", "many"),
        ("SUPERSTEP_CPU_DEVICES", "65"),
        ("SUPERSTEP_CPU_STACK_KIB", "63"),
        ("SUPERSTEP_CPU_STACK_KIB", "1048577"),
        ("SUPERSTEP_WORKERS", "0"),
        ("SUPERSTEP_SINK", "tape"),
        ("SUPERSTEP_CONSUMER_PAUSE_US", "-1"),
        ("SUPERSTEP_WATCHDOG_S", "x"),
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
        ("SUPERSTEP_PROBE_PARAMETERS", "1,x"),
    ] {
        let error = config(&[(name, value)]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("failed to read {name}={value:?}: expected ")),
            "{error}"
        );
    }
}
