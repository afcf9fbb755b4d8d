//! Commands that read the results of runs.

pub mod compare;
pub mod report;
pub mod trends;
