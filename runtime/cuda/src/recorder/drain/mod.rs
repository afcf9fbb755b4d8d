//! Buffers on their way to the host, and the threads that wait for launches.

pub mod lanes;
pub mod monitor;
pub mod queue;
pub mod signals;
