//! Runs programs with a probe or with injected errors, and writes results and costs.

pub mod injection;
mod overhead;
mod run;
mod study;

pub use overhead::run_text;
pub use run::{ProbeRun, RunOptions, measure, parameters};
pub use study::{write_found, write_page, write_study};
