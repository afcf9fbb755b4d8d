//! Superstep harness: manifests, fetching, compiling, running and verifying whole benchmark suites.

pub mod fetch;
pub mod inputs;
pub mod manifest;
