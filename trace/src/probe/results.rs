//! Output of a probed run: a folder with `probe.json` (the modules), `launches.jsonl` (one line per launch) and
//! `values.bin` (little-endian 64-bit words, to which each launch's line refers).
//!
//! A launch has up to three parts: `fields` (by unit, slot and field for `per: cta` and `per: launch`, the latter with
//! one unit; for `per: thread`, the four numbers of [`UnitStatistics`] by slot and field), `threads` (optional: the raw
//! fields of every thread, by slot, field and thread, for all or some slots) and `tables`. Values are as the handler
//! saw them, not complemented.

use super::{DefinedProbe, Per};
use crate::{ModuleTable, TraceError};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MODULES: &str = "probe.json";
const LAUNCHES: &str = "launches.jsonl";
const VALUES: &str = "values.bin";
const SCHEMA_VERSION: u32 = 1;

/// Statistics of a field over all threads of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitStatistics {
    /// All threads' values combined.
    pub combined: u64,
    /// Smallest value of any thread.
    pub smallest: u64,
    pub largest: u64,
    /// Number of threads whose value is not the field's initial value.
    pub touched: u64,
}

/// A run of words in `values.bin`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub first: u64,
    pub words: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchResult {
    pub stream: u32,
    pub launch: u32,
    pub kernel: String,
    /// Module that the slots belong to.
    pub module: u32,
    /// Number of CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Number of threads per CTA in x, y and z.
    pub block: [u32; 3],
    pub first_slot: u32,
    pub slots: u32,
    /// Number of units: threads, CTAs, or 1.
    pub units: u64,
    /// Duration of the launch with the probe; 0 if unknown.
    pub elapsed_ns: u64,
    pub fields: Part,
    pub threads: Option<Part>,
    /// Slots that `threads` contains, in order; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_slots: Option<Vec<u32>>,
    /// All tables in sequence.
    pub tables: Part,
}

impl LaunchResult {
    /// Returns the slots that `threads` contains, in order.
    pub fn used_slots(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.first_slot..self.first_slot + self.slots;
        let listed = self.thread_slots.iter().flatten().copied();
        let has_list = self.thread_slots.is_some();
        all.filter(move |_| !has_list).chain(listed)
    }
}

#[derive(Serialize, Deserialize)]
struct ModulesFile<M> {
    schema_version: u32,
    modules: Vec<M>,
}

#[derive(Debug)]
pub struct ProbeWriter {
    folder: PathBuf,
    launches: BufWriter<File>,
    values: BufWriter<File>,
    words: u64,
    modules: Option<usize>,
}

impl ProbeWriter {
    /// Creates the folder, and replaces any files from an earlier run.
    pub fn create(folder: &Path) -> Result<Self, TraceError> {
        std::fs::create_dir_all(folder).map_err(TraceError::io("create", folder))?;
        let file = |name: &str| {
            let path = folder.join(name);
            let file = File::create(&path).map_err(TraceError::io("create", path));
            file.map(BufWriter::new)
        };
        Ok(ProbeWriter {
            launches: file(LAUNCHES)?,
            values: file(VALUES)?,
            folder: folder.to_owned(),
            words: 0,
            modules: None,
        })
    }

    /// Writes all modules loaded so far.
    pub fn modules(&mut self, modules: &[Arc<ModuleTable>]) -> Result<(), TraceError> {
        if self.modules == Some(modules.len()) {
            return Ok(());
        }
        self.modules = Some(modules.len());
        let path = self.folder.join(MODULES);
        let content = ModulesFile {
            schema_version: SCHEMA_VERSION,
            modules: modules.iter().map(|module| &**module).collect(),
        };
        let text = serde_json::to_vec(&content).map_err(|source| TraceError::Encode { source })?;
        std::fs::write(&path, text).map_err(TraceError::io("write", path))
    }

    /// Adds words and returns their position.
    pub fn values(&mut self, values: impl IntoIterator<Item = u64>) -> Result<Part, TraceError> {
        let first = self.words;
        for value in values {
            self.values
                .write_all(&value.to_le_bytes())
                .map_err(TraceError::io("write", self.folder.join(VALUES)))?;
            self.words += 1;
        }
        Ok(Part {
            first,
            words: self.words - first,
        })
    }

    /// Adds a launch whose values have been written, and flushes `values.bin` and `launches.jsonl`.
    pub fn launch(&mut self, launch: &LaunchResult) -> Result<(), TraceError> {
        let flushed = self.values.flush();
        flushed.map_err(TraceError::io("write", self.folder.join(VALUES)))?;
        let mut line =
            serde_json::to_vec(launch).map_err(|source| TraceError::Encode { source })?;
        line.push(b'\n');
        self.launches
            .write_all(&line)
            .and_then(|()| self.launches.flush())
            .map_err(TraceError::io("write", self.folder.join(LAUNCHES)))
    }
}

/// Returns how a launch's values contradict its probe, if they do. The values file has `available` words.
fn problem(launch: &LaunchResult, probe: &DefinedProbe, available: u64) -> Option<String> {
    let (first, slots, sites) = (launch.first_slot, launch.slots, probe.sites.len());
    if u64::from(first) + u64::from(slots) > sites as u64 {
        return Some(format!(
            "{slots} slots starting at {first}, but the probe has only {sites}"
        ));
    }
    let kept = launch.thread_slots.as_deref();
    let mut all = kept.into_iter().flatten();
    if let Some(slot) = all.find(|slot| !(first..first + slots).contains(slot)) {
        return Some(format!("slot {slot} does not belong to the launch"));
    }
    if launch.units == 0 {
        return Some("the launch has no units".to_owned());
    }
    let spec = &probe.spec;
    let fields = spec.fields.len() as u64;
    let (slots, units) = (u64::from(launch.slots), launch.units);
    let kept = kept.map_or(slots, |kept| kept.len() as u64);
    let product = |numbers: [u64; 3]| {
        let mut numbers = numbers.into_iter();
        numbers.try_fold(1u64, |product, number| product.checked_mul(number))
    };
    let field_words = match spec.per {
        Per::Thread => product([slots, fields, 4]),
        Per::Cta => product([units, slots, fields]),
        Per::Launch => product([slots, fields, 1]),
    };
    let mut tables = spec.tables.iter();
    let table_words = tables.try_fold(0u64, |sum, table| sum.checked_add(table.words));
    let parts = [
        ("fields", Some(launch.fields), field_words),
        ("threads", launch.threads, product([kept, fields, units])),
        ("tables", Some(launch.tables), table_words),
    ];
    for (part, range, expected) in parts {
        let Some(Part { first, words }) = range else {
            continue;
        };
        if Some(words) != expected {
            let expected = expected.map_or("more than 2^64".to_owned(), |words| words.to_string());
            return Some(format!("`{part}` has {words} words, expected {expected}"));
        }
        if first.checked_add(words).is_none_or(|end| end > available) {
            return Some(format!(
                "`{part}` has {words} words starting at {first}, but {VALUES} has only {available}"
            ));
        }
    }
    None
}

/// A folder of results, opened for reading.
#[derive(Debug)]
pub struct ProbeResults {
    pub modules: Vec<ModuleTable>,
    pub launches: Vec<LaunchResult>,
    values: PathBuf,
}

impl ProbeResults {
    /// Opens the output folder of a probed run. Fails if a file is missing or damaged.
    pub fn open(folder: &Path) -> Result<Self, TraceError> {
        let path = folder.join(MODULES);
        let text = std::fs::read(&path).map_err(|_| TraceError::NotACapture {
            path: folder.to_owned(),
            reason: format!("it has no {MODULES}; pass a folder that `superstep probe` wrote"),
        })?;
        let malformed = |path: &Path, offset, error: serde_json::Error| {
            TraceError::damaged(path, offset, error.to_string())
        };
        let file: ModulesFile<ModuleTable> =
            serde_json::from_slice(&text).map_err(|error| malformed(&path, 0, error))?;
        let version = file.schema_version;
        if version != SCHEMA_VERSION {
            let reason =
                format!("schema_version is {version}, but this tool reads {SCHEMA_VERSION}");
            return Err(TraceError::damaged(&path, 0, reason));
        }
        let path = folder.join(LAUNCHES);
        let lines = BufReader::new(File::open(&path).map_err(TraceError::unreadable(&path))?);
        let mut results = ProbeResults {
            modules: file.modules,
            launches: Vec::new(),
            values: folder.join(VALUES),
        };
        let metadata = std::fs::metadata(&results.values);
        let metadata = metadata.map_err(TraceError::unreadable(&results.values))?;
        let available = metadata.len() / 8;
        let mut offset = 0;
        for line in lines.lines() {
            let line = line.map_err(TraceError::unreadable(&path))?;
            let launch = serde_json::from_str(&line);
            let launch: LaunchResult = launch.map_err(|error| malformed(&path, offset, error))?;
            let probe = results.probe(&launch)?;
            if let Some(reason) = problem(&launch, probe, available) {
                return Err(TraceError::damaged(&path, offset, reason));
            }
            results.launches.push(launch);
            offset += line.len() as u64 + 1;
        }
        Ok(results)
    }

    pub fn probe(&self, launch: &LaunchResult) -> Result<&DefinedProbe, TraceError> {
        let module = self.modules.iter().find(|m| m.module == launch.module);
        let probe = module.and_then(|module| module.defined.as_ref());
        probe.ok_or_else(|| {
            let reason = format!("module {} has no probe", launch.module);
            TraceError::damaged(&self.values.with_file_name(LAUNCHES), 0, reason)
        })
    }

    pub fn words(&self, part: Part) -> Result<Vec<u64>, TraceError> {
        let unreadable = || TraceError::unreadable(&self.values);
        let mut file = File::open(&self.values).map_err(unreadable())?;
        let mut bytes = vec![0u8; part.words as usize * 8];
        file.seek(SeekFrom::Start(part.first * 8))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(unreadable())?;
        let (words, _) = bytes.as_chunks::<8>();
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// Reads the statistics of each slot's fields over all threads, by slot and field, for `per: thread`.
    pub fn statistics(&self, launch: &LaunchResult) -> Result<Vec<UnitStatistics>, TraceError> {
        let words = self.words(launch.fields)?;
        Ok(words
            .chunks_exact(4)
            .map(|four| UnitStatistics {
                combined: four[0],
                smallest: four[1],
                largest: four[2],
                touched: four[3],
            })
            .collect())
    }

    /// Reads the fields of every thread at `slot`, by field and thread, for `per: thread`; `None` if they were not
    /// saved.
    pub fn threads(
        &self,
        launch: &LaunchResult,
        slot: u32,
    ) -> Result<Option<Vec<u64>>, TraceError> {
        let index = launch.used_slots().position(|kept| kept == slot);
        let (Some(index), Some(part)) = (index, launch.threads) else {
            return Ok(None);
        };
        let words = self.probe(launch)?.spec.fields.len() as u64 * launch.units;
        let part = Part {
            first: part.first + index as u64 * words,
            words,
        };
        self.words(part).map(Some)
    }

    /// Returns each slot's fields, combined over the whole launch, by slot and field, for any `per`.
    pub fn totals(&self, launch: &LaunchResult) -> Result<Vec<u64>, TraceError> {
        let spec = &self.probe(launch)?.spec;
        if spec.per == Per::Thread {
            let statistics = self.statistics(launch)?;
            return Ok(statistics.iter().map(|s| s.combined).collect());
        }
        let words = self.words(launch.fields)?;
        let fields = spec.fields.len();
        let row = launch.slots as usize * fields;
        let mut totals: Vec<u64> = (0..row)
            .map(|index| spec.fields[index % fields].start())
            .collect();
        for unit in words.chunks_exact(row.max(1)) {
            for (index, (total, value)) in totals.iter_mut().zip(unit).enumerate() {
                *total = spec.fields[index % fields].join(*total, *value);
            }
        }
        Ok(totals)
    }
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
