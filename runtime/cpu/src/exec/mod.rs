//! Launches, and the workers that run their CTAs.

pub mod arguments;
pub mod cta;
pub mod fault;
pub mod fiber;
pub mod grid;
pub mod job;
pub mod launch;
pub mod pool;
pub mod scheduler;
pub mod thread_locals;
pub mod threads;
pub mod worker;
