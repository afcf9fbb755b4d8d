//! User-defined probes: a small YAML file and a handler in CUDA C++ (docs/probes.md).
//!
//! `schema` reads the YAML, `check` validates it and converts it to a [`superstep_trace::ProbeSpec`], and `glue` generates
//! the code around the handler.

mod check;
mod glue;
mod load;
mod schema;

pub(crate) use glue::{host_source, source};
pub use load::{INJECTION, Probe, builtin};
