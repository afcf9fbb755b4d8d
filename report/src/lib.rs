//! Tables in, documents out: the figures and the report of a run, the studies of the shipped probes, and what papers published.
//!
//! This is the one crate that knows suites, programs and papers by name.

pub mod claims;
mod error;
pub mod figures;
mod html;
mod opaque;
pub mod page;
pub mod papers;
pub mod probes;
mod processes;
pub mod published;
pub mod run_summary;

pub use error::{ReportError, Result};
pub use run_summary::RunSummary;
