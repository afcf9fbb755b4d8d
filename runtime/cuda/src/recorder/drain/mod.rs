//! Buffers on their way to the host, and the threads that wait for launches.

pub mod buffers;
pub mod monitor;
pub mod queue;
pub mod signals;
