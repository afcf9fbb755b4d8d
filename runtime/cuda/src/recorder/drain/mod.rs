//! Buffers, and the threads that empty them and wait for launches.

pub mod buffers;
pub mod monitor;
pub mod queue;
pub mod signals;
pub mod slots;
