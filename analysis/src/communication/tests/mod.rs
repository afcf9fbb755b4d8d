//! Tests of the engine against a simple implementation.

pub(crate) mod against_oracle;
pub(crate) mod in_situ;
pub(crate) mod oracle;
