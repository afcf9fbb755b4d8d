//! Results of a run and its messages. `docs/results.md` documents folders and schema.

mod folder;
mod host;
mod junit;
mod partial;
mod reporter;
mod slowdown;
mod table;
mod text;

pub use folder::RunFolder;
pub use host::host;
pub use junit::write_junit;
pub use partial::{in_situ_notes, not_compared, partial_notes, warnings};
pub use reporter::{Color, MessageFormat, Reporter, Step};
pub use slowdown::{slowdown_table, slowdowns};
pub use table::{counted, human_bytes, human_count, summary_table};
pub use text::{geometric_mean, plain_table, table_lines};

use std::path::Path;

use serde::Serialize;
use superstep_build::failure::Failure;

/// Writes `value` as JSON for people to read, too.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::internal("write JSON", error))?;
    std::fs::write(path, text + "\n").map_err(Failure::io("write", &path))
}
