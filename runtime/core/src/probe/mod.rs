//! What both runtimes share for probes that users define: where a launch's fields and tables lie, writing down what was found, and
//! what the running program has of it.

pub(crate) mod api;
mod collect;
mod layout;

pub use collect::{Collector, Found};
pub use layout::{KeptThreads, Layout, ProbeContext, TooLarge};
