//! A stand-in for libcudart: instrumented CUDA kernels, compiled to x86, run on the host's cores.
//!
//! Device objects register their kernels (`registry`), `cudaLaunchKernel` makes a `job` of a launch, and the workers of the `pool` run its
//! CTAs: `scheduler` runs the threads of a CTA in loops that the instrumenter made, one after the other, or as `fiber`s, `device_calls` are what kernels call, `cta` knows who
//! waits for what. The accesses that the probe handler wrote into `logs` become access groups (`merge`) and go into the capture, or are added up in its place (`sink`, `in_situ`).
//! `fault` turns signals in kernels into CUDA errors. `blas` stands in for cuBLAS. The other modules are the CUDA functions by topic; what is missing is in
//! `unsupported`.
//!
//! Execution is in order: a launch, a copy or a memset is done when its call returns.
//!
//! A program that calls a CUDA function which this backend does not support ends with exit code 70.

#![allow(non_snake_case, reason = "exported functions have CUDA's names")]

mod arguments;
mod arrays;
mod blas;
mod children;
mod copies;
mod copies_3d;
mod cta;
mod device;
mod device_calls;
mod device_heap;
mod devices;
mod error_table;
mod errors;
mod events;
mod fault;
mod fiber;
mod functions;
mod graphs;
mod grid;
mod handles;
mod heap;
mod in_situ;
mod job;
mod launch;
mod logs;
mod mapping;
mod matrix;
mod memory;
mod memset;
pub mod merge;
mod pool;
mod pools;
mod printf;
mod probed;
mod properties;
mod ranges;
mod registry;
pub mod runs;
mod runtime;
mod scheduler;
mod sink;
mod streams;
mod symbols;
mod thread_locals;
mod threads;
mod unsupported;
mod worker;
