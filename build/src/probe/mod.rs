//! Probes that users define: a small YAML file and a handler in CUDA C++ (docs/probes.md).
//!
//! `schema` reads the YAML, `check` holds the rules and makes the [`superstep_trace::ProbeSpec`] of it, `glue` writes the code
//! around the handler.

mod check;
mod glue;
mod load;
mod schema;

pub(crate) use glue::{host_source, source};
pub use load::Probe;
