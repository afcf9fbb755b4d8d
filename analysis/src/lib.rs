//! Capture in, tables out: counts, communication, figures and the report of a run.

mod analyse;
pub mod bins;
pub mod claims;
mod columns;
pub mod communication;
pub mod counts;
mod error;
pub mod estimate;
pub mod figures;
pub mod metrics;
pub mod probes;
pub mod report;
pub mod run_summary;
mod sites;
pub mod synthetic;
pub mod tables;

pub use analyse::{Analysis, analyse, analyse_within, count_capture};
pub use error::{AnalysisError, Result};
pub use run_summary::RunSummary;
pub use sites::SiteOps;
