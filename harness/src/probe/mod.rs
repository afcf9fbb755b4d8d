//! Probes that users define: a small YAML file and a handler in CUDA C++ (docs/probes.md).
//!
//! `schema` reads the YAML, `check` holds the rules and makes the [`superstep_trace::ProbeSpec`] of it, `glue` writes the code
//! around the handler.

mod check;
mod glue;
pub mod injection;
mod load;
mod overhead;
mod run;
mod schema;
mod study;

pub use glue::{host_source, source};
pub use load::{Probe, load};
pub use overhead::{run_table, write_run};
pub use run::{
    ProbeRun, ProbedBenchmark, RUN_SCHEMA_VERSION, RunOptions, parameters, run_benchmark,
    write_tables,
};
pub use study::{as_text, write_found, write_page, write_study};
