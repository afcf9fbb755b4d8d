//! Configuration of a traced program, from its environment.

use crate::RuntimeError;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use superstep_trace::{CtaRange, Protocol, Sample, SampleUnit, Selection, SelectionError};

/// What the environment asks of a runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `SUPERSTEP_CAPTURE`: folder of the capture to write; none: no capture.
    pub capture: Option<PathBuf>,
    /// `SUPERSTEP_SUMMARY`: file for the summary; none: no summary.
    pub summary: Option<PathBuf>,
    /// `SUPERSTEP_CPU_THREADS`: worker threads of the CPU backend; none: as many as there are cores.
    pub cpu_threads: Option<NonZeroUsize>,
    /// `SUPERSTEP_PROTOCOL`; none: the one that the program was built for.
    pub protocol: Option<Protocol>,
    /// `SUPERSTEP_BINS`: bins of the trace buffer, a power of two; none: the runtime's choice.
    pub bins: Option<u32>,
    /// `SUPERSTEP_BIN_RECORDS`: records that a bin holds; none: the runtime's choice.
    pub bin_records: Option<u32>,
    /// `SUPERSTEP_SOURCES`: SHA-256 of the program's source files by path, a JSON object; goes into the capture's header.
    pub sources: BTreeMap<String, String>,
    /// `SUPERSTEP_KERNEL`, `SUPERSTEP_LAUNCH_SKIP`, `SUPERSTEP_LAUNCH_COUNT`, `SUPERSTEP_CTAS`, `SUPERSTEP_SAMPLE_LAUNCHES`,
    /// `SUPERSTEP_SAMPLE_CTAS`, `SUPERSTEP_SAMPLE_SEED`: what is recorded.
    pub selection: Selection,
    /// `SUPERSTEP_PROBE_RESULTS`: folder for what a defined probe finds; none: nothing is kept.
    pub probe_results: Option<PathBuf>,
    /// `SUPERSTEP_PROBE_THREADS`: whether the fields of every single thread are kept, of a probe that has them per thread.
    pub probe_threads: KeepThreads,
    /// `SUPERSTEP_PROBE_PARAMETERS`: the probe's parameters, a comma-separated list.
    pub probe_parameters: Vec<u64>,
}

/// Of a probe that has fields per thread, whose of them are kept one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeepThreads {
    /// 0: nobody's; their sums are there anyway.
    #[default]
    None,
    /// 1: everybody's.
    All,
    /// A file with a JSON object: at these places, by the number of the launch in the first stream.
    At(BTreeMap<u32, Vec<u32>>),
}

impl KeepThreads {
    fn read(path: &str) -> Result<Self, RuntimeError> {
        let text = std::fs::read(path).ok();
        let places = text.and_then(|text| serde_json::from_slice(&text).ok());
        places
            .map(KeepThreads::At)
            .ok_or_else(|| RuntimeError::Variable {
                name: "SUPERSTEP_PROBE_THREADS",
                value: path.to_owned(),
                expected: "0, 1, or a file with a JSON object of launches and lists of their places",
            })
    }
}

impl Config {
    /// Reads the configuration from the process's environment. Empty variables count as absent.
    ///
    /// # Errors
    /// [`RuntimeError::Variable`] names the first variable whose value cannot be used.
    pub fn from_environment() -> Result<Self, RuntimeError> {
        Self::from_lookup(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// Reads the configuration with `lookup` in place of the environment.
    ///
    /// # Errors
    /// [`RuntimeError::Variable`] names the first variable whose value cannot be used.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, RuntimeError> {
        let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let get = &get;
        Ok(Config {
            capture: get("SUPERSTEP_CAPTURE").map(PathBuf::from),
            summary: get("SUPERSTEP_SUMMARY").map(PathBuf::from),
            cpu_threads: parse(
                get,
                "SUPERSTEP_CPU_THREADS",
                "a number of threads, at least 1",
                |_| true,
            )?,
            protocol: parse(get, "SUPERSTEP_PROTOCOL", "stream or thesis", |_| true)?,
            bins: parse(get, "SUPERSTEP_BINS", "a power of two", |bins: &u32| {
                bins.is_power_of_two()
            })?,
            bin_records: parse(
                get,
                "SUPERSTEP_BIN_RECORDS",
                "a number of records, at least 1",
                |&records: &u32| records > 0,
            )?,
            sources: match get("SUPERSTEP_SOURCES") {
                None => BTreeMap::new(),
                Some(value) => {
                    serde_json::from_str(&value).map_err(|_| RuntimeError::Variable {
                        name: "SUPERSTEP_SOURCES",
                        value,
                        expected: "a JSON object of paths and their SHA-256",
                    })?
                }
            },
            selection: selection(get)?,
            probe_results: get("SUPERSTEP_PROBE_RESULTS").map(PathBuf::from),
            probe_threads: match get("SUPERSTEP_PROBE_THREADS").as_deref() {
                None | Some("0") => KeepThreads::None,
                Some("1") => KeepThreads::All,
                Some(path) => KeepThreads::read(path)?,
            },
            probe_parameters: match get("SUPERSTEP_PROBE_PARAMETERS") {
                None => Vec::new(),
                Some(value) => value
                    .split(',')
                    .map(|number| number.trim().parse().ok())
                    .collect::<Option<_>>()
                    .ok_or(RuntimeError::Variable {
                        name: "SUPERSTEP_PROBE_PARAMETERS",
                        value,
                        expected: "comma-separated whole numbers",
                    })?,
            },
        })
    }
}

fn selection(get: impl Fn(&str) -> Option<String> + Copy) -> Result<Selection, RuntimeError> {
    let variable = |name| {
        move |error: SelectionError| RuntimeError::Selection {
            name,
            value: error.value,
            expected: error.expected,
        }
    };
    let number = "a number of launches";
    let seed = parse(get, "SUPERSTEP_SAMPLE_SEED", "a number", |_| true)?.unwrap_or(1);
    let sample = |name, unit| match get(name) {
        Some(rate) => Sample::parse(unit, &rate, seed)
            .map(Some)
            .map_err(variable(name)),
        None => Ok(None),
    };
    let launches = sample("SUPERSTEP_SAMPLE_LAUNCHES", SampleUnit::Launches)?;
    let ctas = sample("SUPERSTEP_SAMPLE_CTAS", SampleUnit::Ctas)?;
    if launches.is_some() && ctas.is_some() {
        return Err(RuntimeError::Selection {
            name: "SUPERSTEP_SAMPLE_CTAS",
            value: get("SUPERSTEP_SAMPLE_CTAS").unwrap_or_default(),
            expected:
                "nothing together with SUPERSTEP_SAMPLE_LAUNCHES: launches or CTAs are sampled, not both"
                    .to_owned(),
        });
    }
    Ok(Selection {
        kernel: match get("SUPERSTEP_KERNEL") {
            Some(text) => Some(text.parse().map_err(variable("SUPERSTEP_KERNEL"))?),
            None => None,
        },
        launch_skip: parse(get, "SUPERSTEP_LAUNCH_SKIP", number, |_| true)?.unwrap_or(0),
        launch_count: parse(get, "SUPERSTEP_LAUNCH_COUNT", number, |_| true)?,
        ctas: match get("SUPERSTEP_CTAS") {
            Some(text) => CtaRange::parse_list(&text).map_err(variable("SUPERSTEP_CTAS"))?,
            None => Vec::new(),
        },
        sample: launches.or(ctas),
    })
}

fn parse<T: std::str::FromStr>(
    get: impl Fn(&str) -> Option<String>,
    name: &'static str,
    expected: &'static str,
    accept: impl Fn(&T) -> bool,
) -> Result<Option<T>, RuntimeError> {
    let Some(value) = get(name) else {
        return Ok(None);
    };
    match value.parse().ok().filter(accept) {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(RuntimeError::Variable {
            name,
            value,
            expected,
        }),
    }
}

#[cfg(test)]
mod tests {
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
            ("SUPERSTEP_SUMMARY", "s.json"),
            ("SUPERSTEP_CPU_THREADS", "2"),
            ("SUPERSTEP_PROTOCOL", "thesis"),
            ("SUPERSTEP_BINS", "128"),
            ("SUPERSTEP_BIN_RECORDS", "1000"),
            ("SUPERSTEP_SOURCES", r#"{"a.cu": "00"}"#),
            ("SUPERSTEP_KERNEL", "hot*"),
            ("SUPERSTEP_LAUNCH_SKIP", "3"),
            ("SUPERSTEP_LAUNCH_COUNT", "2"),
            ("SUPERSTEP_CTAS", "0-3"),
            ("SUPERSTEP_SAMPLE_CTAS", "0.5"),
            ("SUPERSTEP_SAMPLE_SEED", "7"),
            ("SUPERSTEP_PROBE_RESULTS", "r"),
            ("SUPERSTEP_PROBE_THREADS", "1"),
            ("SUPERSTEP_PROBE_PARAMETERS", "5, 6"),
        ]);
        let expected = Config {
            capture: Some("a/capture".into()),
            summary: Some("s.json".into()),
            cpu_threads: NonZeroUsize::new(2),
            protocol: Some(Protocol::Thesis),
            bins: Some(128),
            bin_records: Some(1000),
            sources: BTreeMap::from([("a.cu".to_owned(), "00".to_owned())]),
            selection: Selection {
                kernel: "hot*".parse().ok(),
                launch_skip: 3,
                launch_count: Some(2),
                ctas: vec![CtaRange { first: 0, last: 3 }],
                sample: Sample::parse(SampleUnit::Ctas, "0.5", 7).ok(),
            },
            probe_results: Some("r".into()),
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
            ("SUPERSTEP_SOURCES", "a.cu"),
            ("SUPERSTEP_KERNEL", "regex:("),
            ("SUPERSTEP_LAUNCH_SKIP", "-1"),
            ("SUPERSTEP_CTAS", "5-2"),
            ("SUPERSTEP_SAMPLE_LAUNCHES", "2"),
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
}
