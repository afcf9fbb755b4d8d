//! Tables in, documents out: the figures and the report of a run, the studies of the shipped probes, and what papers published.
//!
//! This is the one crate that knows suites, programs and papers by name.

pub mod claims;
mod error;
pub mod figures;
mod html;
pub mod page;
pub mod papers;
pub mod probes;
pub mod published;

pub use error::{ReportError, Result};
