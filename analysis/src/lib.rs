//! Turns captures into tables: counts, communication and metrics.

mod analyse;
pub mod bins;
pub mod cluster;
mod columns;
pub mod communication;
pub mod counts;
mod error;
pub mod estimate;
mod in_situ;
pub mod metrics;
mod parallel;
pub mod run_summary;
pub mod scan;
mod sites;
pub mod tables;
mod widths;

pub use analyse::{Analysis, analyse, analyse_and_scan, analyse_within};
pub use error::{AnalysisError, Result};
pub use in_situ::{InSitu, VolumeBounds, needs_accesses};
pub use sites::SiteOps;
use superstep_trace::add_assign;
