//! Commands that build and run programs.

pub mod bundle;
pub mod explain;
pub mod inject;
pub mod probe;
pub mod run;
pub mod run_bundle;
pub mod suite;
