//! User-defined probes: a small YAML file and a handler in CUDA C++ (docs/probes.md).
//!
//! `definition` parses the YAML into a [`superstep_trace::ProbeSpec`] and validates it; `glue` generates the code
//! around the handler.

mod definition;
mod glue;
mod load;

pub(crate) use glue::{host_source, source};
pub use load::{INJECTION, Probe, builtin};
