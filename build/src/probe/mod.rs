//! Probes that users define: a small YAML file and a handler in CUDA C++ (docs/probes.md).
//!
//! `schema` reads the YAML, `check` has the rules and converts it to a [`superstep_trace::ProbeSpec`], `glue` writes the code around the
//! handler.

mod check;
mod glue;
mod load;
mod schema;

pub(crate) use glue::{host_source, source};
pub use load::Probe;
