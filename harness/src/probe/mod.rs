//! Runs programs with a probe, or with faults that a probe injects, and writes down what was found and what it cost.

pub mod injection;
mod overhead;
mod run;
mod study;

pub use overhead::run_text;
use overhead::write_run;
pub use run::{ProbeRun, RunOptions, measure, parameters};
pub use study::{write_found, write_page, write_study};
