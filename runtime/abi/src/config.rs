//! Configuration of a traced program.

use crate::variable::*;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use superstep_trace::{
    CtaBlocks, CtaRange, Protocol, Sample, SampleUnit, Selection, SelectionError,
};

/// Options of a traced program. In paths, each process replaces `{process}` with its own name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub capture: Option<PathBuf>,
    pub summary: Option<PathBuf>,
    /// SHA-256 of the program's source files by path, for the capture's header.
    pub sources: BTreeMap<String, String>,
    pub protocol: Option<Protocol>,
    pub selection: Selection,
    /// Worker threads of the CPU backend; one per core by default.
    pub cpu_threads: Option<NonZeroUsize>,
    /// Devices of the CPU backend, 1 to 64; one by default.
    pub cpu_devices: Option<u32>,
    /// Stack size per CUDA thread on the CPU backend, in KiB, 64 to 1048576.
    pub cpu_stack_kib: Option<u32>,
    /// Whether the CPU backend runs all CUDA threads as fibers, for comparisons.
    pub cpu_fibers: bool,
    /// Number of bins (protocol `thesis`) or rings (`stream`) in the trace buffer, a power of two.
    pub bins: Option<u32>,
    /// Records per bin, or units per ring piece.
    pub bin_records: Option<NonZeroU32>,
    /// Pieces per ring on the device.
    pub ring_pieces: Option<NonZeroUsize>,
    /// Pieces per ring that the host can hold.
    pub host_pieces: Option<NonZeroUsize>,
    /// Number of host threads that drain a buffer.
    pub workers: Option<NonZeroUsize>,
    pub sink: RecordSink,
    /// Maximum random pause before each poll of the rings, for tests of slow consumers.
    pub consumer_pause: Duration,
    /// Time without progress after which a warning names the kernel; zero disables the warning.
    pub watchdog: Option<Duration>,
    /// Limit on shadow memory per device, in bytes; by default, the memory that the program leaves free.
    pub shadow_memory: Option<u64>,
    /// Granularity of transfers in protocol `in-situ`: CTAs or blocks of CTAs.
    pub cta_blocks: CtaBlocks,
    /// Folder for the results of a user-defined probe.
    pub probe_results: Option<PathBuf>,
    pub probe_threads: KeepThreads,
    pub probe_parameters: Vec<u64>,
}

/// Threads whose fields are kept individually, for a probe with per-thread fields. `Places` is a file or its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeepThreads<Places = PathBuf> {
    /// `0`: only the sums are kept.
    #[default]
    None,
    /// `1`: all threads.
    All,
    /// All threads, but only at the places that a JSON file lists for each launch of the first stream.
    At(Places),
}

/// Destination of the records in protocol `stream`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordSink {
    /// Compressed into the capture.
    #[default]
    Disk,
    /// Kept in memory as received; the oldest are overwritten.
    Memory,
    /// Only counted.
    Count,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read {name}={value:?}: expected {expected}")]
pub struct VariableError {
    pub name: &'static str,
    /// The value, or the invalid part of it.
    pub value: String,
    pub expected: String,
}

const SINKS: [(&str, RecordSink); 3] = [
    ("disk", RecordSink::Disk),
    ("memory", RecordSink::Memory),
    ("count", RecordSink::Count),
];

impl Config {
    /// Reads the configuration from environment variables, using `lookup`. Empty variables count as absent.
    ///
    /// # Errors
    /// [`VariableError`] names the first variable with an invalid value.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, VariableError> {
        let variables = Variables(lookup);
        let path = |name| variables.get(name).map(PathBuf::from);
        let count = |name| variables.parsed(name, "a positive integer");
        let within = |name, min, max, what: &str| {
            let expected = format!("a number of {what} from {min} to {max}");
            variables.read(name, &expected, |text| {
                text.parse()
                    .ok()
                    .filter(|number| (min..=max).contains(number))
            })
        };
        Ok(Config {
            capture: path(CAPTURE),
            summary: path(SUMMARY),
            sources: variables
                .read(
                    SOURCES,
                    "a JSON object that maps paths to SHA-256 digests",
                    |text| serde_json::from_str(text).ok(),
                )?
                .unwrap_or_default(),
            protocol: variables.parsed(PROTOCOL, "stream, thesis or in-situ")?,
            selection: variables.selection()?,
            cpu_threads: variables.parsed(CPU_THREADS, "a number of threads, at least 1")?,
            cpu_devices: within(CPU_DEVICES, 1, 64, "devices")?,
            cpu_stack_kib: within(CPU_STACK_KIB, 64, 1 << 20, "KiB")?,
            cpu_fibers: variables.get(CPU_FIBERS).is_some_and(|text| text == "1"),
            bins: variables.read(BINS, "a power of two", |text| {
                text.parse()
                    .ok()
                    .filter(|bins: &u32| bins.is_power_of_two())
            })?,
            bin_records: variables.parsed(BIN_RECORDS, "a number of records, at least 1")?,
            ring_pieces: count(RING_PIECES)?,
            host_pieces: count(HOST_PIECES)?,
            workers: count(WORKERS)?,
            sink: variables
                .read(SINK, "disk, memory or count", |text| {
                    let mut sinks = SINKS.into_iter();
                    sinks.find(|(name, _)| *name == text)
                })?
                .map_or(RecordSink::default(), |(_, sink)| sink),
            consumer_pause: variables
                .parsed(CONSUMER_PAUSE_US, "a number of microseconds")?
                .map_or(Duration::ZERO, Duration::from_micros),
            watchdog: variables
                .parsed(WATCHDOG_S, "a number of seconds, or 0 to disable it")?
                .map(Duration::from_secs),
            shadow_memory: variables.parsed(SHADOW_MEMORY, "a number of bytes")?,
            cta_blocks: variables.part(CTA_BLOCKS, str::parse)?.unwrap_or_default(),
            probe_results: path(PROBE_RESULTS),
            probe_threads: match variables.get(PROBE_THREADS).as_deref() {
                None | Some("0") => KeepThreads::None,
                Some("1") => KeepThreads::All,
                Some(file) => KeepThreads::At(file.into()),
            },
            probe_parameters: variables
                .read(PROBE_PARAMETERS, "comma-separated whole numbers", |text| {
                    text.split(',').map(|n| n.trim().parse().ok()).collect()
                })?
                .unwrap_or_default(),
        })
    }

    /// Returns the variables from which [`from_env`](Self::from_env) reads this configuration, omitting those at their
    /// defaults.
    pub fn to_env(&self) -> Vec<(&'static str, OsString)> {
        let mut set = Vec::new();
        let mut path = |name, path: &Option<PathBuf>| {
            set.extend(path.as_ref().map(|path| (name, path.into())));
        };
        path(CAPTURE, &self.capture);
        path(SUMMARY, &self.summary);
        path(PROBE_RESULTS, &self.probe_results);
        let default = Config::default();
        match &self.probe_threads {
            KeepThreads::None => {}
            KeepThreads::All => set.push((PROBE_THREADS, "1".into())),
            KeepThreads::At(file) => set.push((PROBE_THREADS, file.into())),
        }
        let mut text = |name, value: Option<String>| {
            set.extend(value.map(|value| (name, value.into())));
        };
        if !self.sources.is_empty() {
            let json = serde_json::to_string(&self.sources);
            text(SOURCES, Some(json.expect("strings are JSON")));
        }
        text(PROTOCOL, show(self.protocol));
        text(CPU_THREADS, show(self.cpu_threads));
        text(CPU_DEVICES, show(self.cpu_devices));
        text(CPU_STACK_KIB, show(self.cpu_stack_kib));
        text(CPU_FIBERS, show(self.cpu_fibers.then_some(1)));
        text(BINS, show(self.bins));
        text(BIN_RECORDS, show(self.bin_records));
        text(RING_PIECES, show(self.ring_pieces));
        text(HOST_PIECES, show(self.host_pieces));
        text(WORKERS, show(self.workers));
        let is_set = |sink| sink == self.sink && sink != default.sink;
        let sink = SINKS.into_iter().find(|&(_, sink)| is_set(sink));
        text(SINK, show(sink.map(|(name, _)| name)));
        let pause = Some(self.consumer_pause.as_micros()).filter(|&pause| pause > 0);
        text(CONSUMER_PAUSE_US, show(pause));
        text(WATCHDOG_S, show(self.watchdog.map(|time| time.as_secs())));
        text(SHADOW_MEMORY, show(self.shadow_memory));
        let blocks = Some(self.cta_blocks.ctas()).filter(|&ctas| ctas > 1);
        text(CTA_BLOCKS, show(blocks));
        text(PROBE_PARAMETERS, list(&self.probe_parameters));
        let selection = &self.selection;
        text(KERNEL, show(selection.kernel.as_ref()));
        let skip = Some(selection.launch_skip).filter(|&launches| launches > 0);
        text(LAUNCH_SKIP, show(skip));
        text(LAUNCH_COUNT, show(selection.launch_count));
        text(CTAS, list(&selection.ctas));
        if let Some(sample) = selection.sample {
            let name = match sample.unit {
                SampleUnit::Launches => SAMPLE_LAUNCHES,
                SampleUnit::Ctas => SAMPLE_CTAS,
            };
            text(name, show(Some(sample.rate())));
            text(SAMPLE_SEED, show(Some(sample.seed)));
        }
        set
    }
}

fn show(value: Option<impl Display>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn list(values: &[impl Display]) -> Option<String> {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    Some(texts.join(",")).filter(|text| !text.is_empty())
}

struct Variables<L>(L);

impl<L: Fn(&str) -> Option<String>> Variables<L> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    fn read<T>(
        &self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, VariableError> {
        let unusable = |value: &str| SelectionError {
            value: value.to_owned(),
            expected: expected.to_owned(),
        };
        self.part(name, |value| read(value).ok_or_else(|| unusable(value)))
    }

    fn parsed<T: FromStr>(
        &self,
        name: &'static str,
        expected: &str,
    ) -> Result<Option<T>, VariableError> {
        self.read(name, expected, |text| text.parse().ok())
    }

    /// Reads a variable. The error names the invalid part of its value.
    fn part<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, SelectionError>,
    ) -> Result<Option<T>, VariableError> {
        let part = self.get(name).map(|text| read(&text)).transpose();
        part.map_err(|SelectionError { value, expected }| VariableError {
            name,
            value,
            expected,
        })
    }

    fn selection(&self) -> Result<Selection, VariableError> {
        let number = "a number of launches";
        let seed = self.parsed(SAMPLE_SEED, "a number")?.unwrap_or(1);
        let sample = |name, unit| self.part(name, |rate| Sample::parse(unit, rate, seed));
        let launches = sample(SAMPLE_LAUNCHES, SampleUnit::Launches)?;
        let ctas = sample(SAMPLE_CTAS, SampleUnit::Ctas)?;
        if launches.is_some() && ctas.is_some() {
            return Err(VariableError {
                name: SAMPLE_CTAS,
                value: self.get(SAMPLE_CTAS).unwrap_or_default(),
                expected: format!(
                    "no value if {SAMPLE_LAUNCHES} is set: sample either launches or CTAs, not both"
                ),
            });
        }
        Ok(Selection {
            kernel: self.part(KERNEL, str::parse)?,
            launch_skip: self.parsed(LAUNCH_SKIP, number)?.unwrap_or(0),
            launch_count: self.parsed(LAUNCH_COUNT, number)?,
            ctas: self.part(CTAS, CtaRange::parse_list)?.unwrap_or_default(),
            sample: launches.or(ctas),
        })
    }
}

#[cfg(test)]
mod tests;
