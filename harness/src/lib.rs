//! Superstep harness: manifests, fetching, compiling, running and verifying whole benchmark suites.

pub mod bundle;
pub mod compile;
pub mod counters;
pub mod exit_code;
pub mod failure;
pub mod fetch;
pub mod inputs;
pub mod installation;
pub mod interrupt;
pub mod manifest;
pub mod probe;
pub mod results;
pub mod run;
pub mod sizes;
pub mod suite;
pub mod verify;
