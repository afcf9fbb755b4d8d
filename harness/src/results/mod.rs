//! What a run leaves behind and what it says while it runs. `docs/results.md` documents folders and schema.

mod folder;
mod host;
mod junit;
mod partial;
mod reporter;
mod slowdown;
mod table;

pub use folder::RunFolder;
pub use host::host;
pub use junit::write_junit;
pub use partial::{not_compared, partial_notes, warnings};
pub use reporter::{Color, MessageFormat, Reporter};
pub use slowdown::{Slowdown, Slowdowns, geometric_mean, slowdown_table, slowdowns};
pub use table::{counted, human_bytes, human_count, summary_table};
