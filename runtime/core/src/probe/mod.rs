//! What both runtimes share for probes that users define: where a launch's fields and tables lie, and writing down what was found.

mod collect;
mod layout;

pub use collect::Collector;
pub use layout::{Layout, ProbeContext, TooLarge};
