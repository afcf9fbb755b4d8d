//! User-defined probes in both runtimes: memory layout, results, and the program's interface.

pub(crate) mod api;
mod collect;
mod layout;

pub use collect::Found;
pub use layout::{KeptThreads, Layout, ProbeContext, TooLarge, read_kept_threads};
