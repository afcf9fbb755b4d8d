//! Projects with their own build systems, and the stand-in for nvcc.

mod closed;
#[path = "../common/mod.rs"]
mod common;
mod nvcc_flags;
mod projects;
