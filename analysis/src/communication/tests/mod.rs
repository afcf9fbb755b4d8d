//! Tests that compare the engine with a simple implementation.

pub(crate) mod against_oracle;
pub(crate) mod in_situ;
pub(crate) mod oracle;
