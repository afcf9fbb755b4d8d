//! Interfaces that two sides share: the structures that CPU device code shares with its runtime ([`cpu`]), and the configuration that the
//! harness gives a traced program through its environment ([`Config`], by the names in [`variable`]).

mod config;
pub mod cpu;
pub mod variable;

pub use config::{Config, KeepThreads, RecordSink, VariableError};
