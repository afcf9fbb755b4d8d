//! The `thesis` protocol, in which each thread adds its access to a bin in host memory (docs/protocol-thesis.md).

pub mod bins;
#[cfg(test)]
mod bins_tests;
pub mod buffer;
pub mod consumer;
#[cfg(test)]
mod consumer_tests;
pub mod groups;
pub mod layout;
pub mod record;
