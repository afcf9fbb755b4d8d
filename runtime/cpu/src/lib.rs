//! A replacement for libcudart that runs instrumented CUDA kernels, compiled to x86, on the host's cores.
//!
//! | module | contents |
//! |---|---|
//! | `registry` | kernels and variables that device objects register |
//! | `device`, `memory`, `streams` | CUDA functions and their state: devices; heap, copies, arrays, pools; streams, events, graphs |
//! | `blas` | replacement for cuBLAS |
//! | `exec` | a launch becomes a job, whose CTAs the pool's workers run; the scheduler runs threads in loops or as fibers |
//! | `device_calls` | functions that kernels call |
//! | `record` | log entries become access groups in the capture, or aggregates |
//! | `runtime` | the session, its exit handlers, and exits for unsupported functions |
//!
//! Execution is in order: a launch, a copy or a memset is done when its call returns.
//!
//! A program that calls an unsupported CUDA function exits with code 70.

#![allow(non_snake_case, reason = "exported functions have CUDA's names")]

mod blas;
mod device;
mod device_calls;
mod error_table;
mod errors;
mod exec;
mod handles;
mod mapping;
mod memory;
pub mod record;
mod registry;
mod runtime;
mod streams;
