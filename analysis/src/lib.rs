//! Capture in, tables out: counts, communication, figures and the report of a run.

pub mod run_summary;

pub use run_summary::RunSummary;
