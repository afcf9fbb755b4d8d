//! Single programs: how they start, run and end.

mod after_main;
mod before_main;
#[path = "../common/mod.rs"]
mod common;
mod ends;
mod loops_and_fibers;
mod misaligned;
mod no_kernel;
mod one_program;
mod processes;
mod unsupported;
