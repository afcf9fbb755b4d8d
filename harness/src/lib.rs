//! Runs, verifies and reports traced programs and whole suites of benchmarks.
//!
//! [`main`] is the `superstep` command; `superstep-bench` also uses the other items.

mod arguments;
mod bundle;
mod capture;
mod commands;
mod counters;
mod probe;
mod results;
mod session;
mod suite;
mod terminal;
mod verify;

pub use arguments::FetchArgs;
pub use arguments::value::ByteSize;
pub use bundle::Bundle;
pub use capture::failure as capture_failure;
pub use commands::{exit, main};
pub use results::{MessageFormat, RunFolder, host, plain_table, table_lines, write_json};
pub use session::{Fetched, Prepared, Session};
pub use suite::{
    AnalysisOptions, Case, Execution, Kind, ProgramChoice, Run, Running, Selection, SuiteOptions,
    SuiteRun, golden_folder,
};
pub use terminal::print;
pub use verify::{Order, check_manifest, check_runtime, in_situ_equal};
