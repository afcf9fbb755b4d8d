//! The protocol `thesis`: bins in host memory, to which each thread adds its access (docs/protocol-thesis.md).

pub mod bins;
#[cfg(test)]
pub mod bins_tests;
pub mod consumer;
#[cfg(test)]
pub mod consumer_tests;
pub mod groups;
pub mod layout;
pub mod record;
