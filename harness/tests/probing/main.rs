//! Probes and injected errors.

#[path = "../common/mod.rs"]
mod common;
mod injection;
mod probe_launches;
mod probes;
