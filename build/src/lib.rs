//! Reads a suite's manifests, fetches sources and inputs, and compiles programs with their probes.

pub mod compile;
pub mod exit_code;
pub mod failure;
pub mod fetch;
pub mod inputs;
pub mod installation;
pub mod interrupt;
pub mod manifest;
pub mod nearest;
pub mod nvcc;
pub mod probe;
pub mod run;
