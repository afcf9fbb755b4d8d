//! Results and messages of a run. `docs/results.md` documents the folders and the schema.

mod card;
mod folder;
mod junit;
mod partial;
mod reporter;
mod slowdown;
mod table;

pub use card::card;
pub use folder::RunFolder;
pub use junit::write_junit;
pub use partial::note_lines;
pub use reporter::{MessageFormat, Reporter, Step, VERBOSITY, Verbosity, is_coloured};
pub use slowdown::slowdown_table;
pub use table::{
    MIN_TIME_S, counted, human_bytes, human_count, kernel_ratio, plain_table, summary_table,
    table_lines, time_ratio,
};

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use superstep_analysis::run_summary::Host;
use superstep_build::failure::{Failure, FailureKind};

pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::internal("write JSON", error))?;
    std::fs::write(path, text + "\n").map_err(Failure::io("write", &path))
}

/// Reads a JSON file whose `schema_version` is `version`. A failure has `kind`, and its message ends with `hint`.
pub fn read_json<T: DeserializeOwned>(
    path: &Path,
    version: u32,
    kind: FailureKind,
    hint: &str,
) -> Result<T, Failure> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let failed = |why: &dyn std::fmt::Display| {
        let path = path.display();
        Failure::new(kind, format!("failed to read {path}: {why}; {hint}"))
    };
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    match serde_json::from_slice(&text).map_err(|error| failed(&error))? {
        Version { schema_version } if schema_version != version => Err(failed(&format_args!(
            "this version of superstep does not support schema version {schema_version}"
        ))),
        Version { .. } => serde_json::from_slice(&text).map_err(|error| failed(&error)),
    }
}

/// Returns the total bytes of all files below `path`, ignoring files that disappear in the meantime.
pub fn bytes_below(path: &Path) -> u64 {
    let Ok(data) = path.symlink_metadata() else {
        return 0;
    };
    if !data.is_dir() {
        return data.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_below(&entry.path())).sum()
}

pub fn host() -> Host {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| {
        let (_, name) = line.strip_prefix("model name")?.split_once(':')?;
        Some(name.trim().to_owned())
    });
    let cores = std::thread::available_parallelism()
        .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
    Host {
        cpu: model.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores,
    }
}
