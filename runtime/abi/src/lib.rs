//! Interfaces: the structures that CPU device code shares with its runtime ([`cpu`]), and the configuration that the
//! harness passes to a traced program through its environment ([`Config`], with the names in [`variable`]).

mod config;
pub mod cpu;
pub mod variable;

pub use config::{Config, KeepThreads, RecordSink, VariableError};
