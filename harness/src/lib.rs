//! Runs, verifies and reports traced programs and whole suites of benchmarks.

pub mod bundle;
pub mod capture;
pub mod commands;
pub mod counters;
pub mod probe;
pub mod results;
pub mod sizes;
pub mod suite;
pub mod verify;
