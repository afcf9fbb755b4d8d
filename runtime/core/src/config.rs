//! Configuration of a traced program, from its environment.

use crate::RuntimeError;
use crate::process::Place;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;
use superstep_trace::{
    CtaBlocks, CtaRange, Protocol, Sample, SampleUnit, Selection, SelectionError,
};

/// What the environment asks of a runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `SUPERSTEP_CAPTURE`: folder of the capture to write; none: no capture. With `{process}` in it, each process has its own.
    pub capture: Option<Place>,
    /// `SUPERSTEP_SUMMARY`: file for the summary; none: no summary. `{process}` as above.
    pub summary: Option<Place>,
    /// `SUPERSTEP_CPU_THREADS`: worker threads of the CPU backend; none: as many as there are cores.
    pub cpu_threads: Option<NonZeroUsize>,
    /// `SUPERSTEP_PROTOCOL`; none: the one that the program was built for.
    pub protocol: Option<Protocol>,
    /// `SUPERSTEP_BINS`: bins of the trace buffer, a power of two; none: the runtime's choice.
    pub bins: Option<u32>,
    /// `SUPERSTEP_BIN_RECORDS`: records that a bin holds; none: the runtime's choice.
    pub bin_records: Option<u32>,
    /// `SUPERSTEP_SHADOW_MEMORY`: bytes of each device's memory that shadow memory may take; none: what the program leaves.
    pub shadow_memory: Option<u64>,
    /// `SUPERSTEP_SOURCES`: SHA-256 of the program's source files by path, a JSON object; goes into the capture's header.
    pub sources: BTreeMap<String, String>,
    /// `SUPERSTEP_KERNEL`, `SUPERSTEP_LAUNCH_SKIP`, `SUPERSTEP_LAUNCH_COUNT`, `SUPERSTEP_CTAS`, `SUPERSTEP_SAMPLE_LAUNCHES`,
    /// `SUPERSTEP_SAMPLE_CTAS`, `SUPERSTEP_SAMPLE_SEED`: what is recorded.
    pub selection: Selection,
    /// `SUPERSTEP_CTA_BLOCKS`: in situ, CTAs of a block, a power of two; none: transfers are between CTAs.
    pub cta_blocks: CtaBlocks,
    /// `SUPERSTEP_PROBE_RESULTS`: folder for what a defined probe finds; none: nothing is kept. `{process}` as above.
    pub probe_results: Option<Place>,
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
    fn read(text: &str) -> Option<Self> {
        match text {
            "0" => Some(KeepThreads::None),
            "1" => Some(KeepThreads::All),
            path => {
                let places = std::fs::read(path).ok()?;
                Some(KeepThreads::At(serde_json::from_slice(&places).ok()?))
            }
        }
    }
}

impl Config {
    /// Reads the configuration from the process's environment. Empty variables count as absent.
    ///
    /// # Errors
    /// [`RuntimeError::Variable`] names the first variable whose value cannot be used.
    pub fn from_environment() -> Result<Self, RuntimeError> {
        Self::from_lookup(environment)
    }

    /// Reads the configuration with `lookup` in place of the environment.
    ///
    /// # Errors
    /// [`RuntimeError::Variable`] names the first variable whose value cannot be used.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, RuntimeError> {
        let variables = Variables(lookup);
        Ok(Config {
            capture: variables.get("SUPERSTEP_CAPTURE").map(Place::new),
            summary: variables.get("SUPERSTEP_SUMMARY").map(Place::new),
            cpu_threads: variables
                .parsed("SUPERSTEP_CPU_THREADS", "a number of threads, at least 1")?,
            protocol: variables.parsed("SUPERSTEP_PROTOCOL", "stream, thesis or in-situ")?,
            bins: variables.read("SUPERSTEP_BINS", "a power of two", |text| {
                text.parse()
                    .ok()
                    .filter(|bins: &u32| bins.is_power_of_two())
            })?,
            bin_records: variables
                .parsed::<NonZeroU32>("SUPERSTEP_BIN_RECORDS", "a number of records, at least 1")?
                .map(u32::from),
            shadow_memory: variables.parsed("SUPERSTEP_SHADOW_MEMORY", "a number of bytes")?,
            sources: variables
                .read(
                    "SUPERSTEP_SOURCES",
                    "a JSON object of paths and their SHA-256",
                    |text| serde_json::from_str(text).ok(),
                )?
                .unwrap_or_default(),
            selection: variables.selection()?,
            cta_blocks: variables
                .part("SUPERSTEP_CTA_BLOCKS", str::parse)?
                .unwrap_or_default(),
            probe_results: variables.get("SUPERSTEP_PROBE_RESULTS").map(Place::new),
            probe_threads: variables
                .read(
                    "SUPERSTEP_PROBE_THREADS",
                    "0, 1, or a file with a JSON object of launches and lists of their places",
                    KeepThreads::read,
                )?
                .unwrap_or_default(),
            probe_parameters: variables
                .read(
                    "SUPERSTEP_PROBE_PARAMETERS",
                    "comma-separated whole numbers",
                    |text| text.split(',').map(|n| n.trim().parse().ok()).collect(),
                )?
                .unwrap_or_default(),
        })
    }
}

/// The value of a variable of the process's environment.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Variables by name.
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
    ) -> Result<Option<T>, RuntimeError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(RuntimeError::Variable {
                name,
                value,
                expected: expected.to_owned(),
            }),
        }
    }

    fn parsed<T: FromStr>(
        &self,
        name: &'static str,
        expected: &str,
    ) -> Result<Option<T>, RuntimeError> {
        self.read(name, expected, |text| text.parse().ok())
    }

    /// What a part of the selection says, which names what is wrong with it.
    fn part<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, SelectionError>,
    ) -> Result<Option<T>, RuntimeError> {
        let part = self.get(name).map(|text| read(&text)).transpose();
        part.map_err(
            |SelectionError { value, expected }| RuntimeError::Variable {
                name,
                value,
                expected,
            },
        )
    }

    fn selection(&self) -> Result<Selection, RuntimeError> {
        let number = "a number of launches";
        let seed = self
            .parsed("SUPERSTEP_SAMPLE_SEED", "a number")?
            .unwrap_or(1);
        let sample = |name, unit| self.part(name, |rate| Sample::parse(unit, rate, seed));
        let launches = sample("SUPERSTEP_SAMPLE_LAUNCHES", SampleUnit::Launches)?;
        let ctas = sample("SUPERSTEP_SAMPLE_CTAS", SampleUnit::Ctas)?;
        if launches.is_some() && ctas.is_some() {
            return Err(RuntimeError::Variable {
                name: "SUPERSTEP_SAMPLE_CTAS",
                value: self.get("SUPERSTEP_SAMPLE_CTAS").unwrap_or_default(),
                expected:
                    "nothing together with SUPERSTEP_SAMPLE_LAUNCHES: launches or CTAs are sampled, not both"
                        .to_owned(),
            });
        }
        Ok(Selection {
            kernel: self.part("SUPERSTEP_KERNEL", str::parse)?,
            launch_skip: self.parsed("SUPERSTEP_LAUNCH_SKIP", number)?.unwrap_or(0),
            launch_count: self.parsed("SUPERSTEP_LAUNCH_COUNT", number)?,
            ctas: self
                .part("SUPERSTEP_CTAS", CtaRange::parse_list)?
                .unwrap_or_default(),
            sample: launches.or(ctas),
        })
    }
}

#[cfg(test)]
mod tests;
