//! Runs programs with a probe or with injected errors, and writes results and costs.

pub mod injection;
mod run;
mod study;

pub use run::{ProbeRun, RunOptions, measure, parameters};
pub use study::{run_table, write_found, write_page, write_study};
