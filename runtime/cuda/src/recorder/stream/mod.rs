//! The `stream` protocol: compact records in rings on the device, which the kernel's own warps copy to the host.
//!
//! docs/capture describes the protocol (protocol.md) and proves it correct (correctness.md). `wire` reads records,
//! `rings` is the host's view of a buffer, `shared` assigns rings to `workers`, which empty them, and `flush` copies a
//! launch's last pieces.

pub mod buffer;
mod by_warp;
pub mod flush;
pub mod layout;
pub mod rings;
pub mod settings;
pub mod shared;
pub mod wire;
#[cfg(test)]
mod wire_tests;
#[cfg(test)]
mod worker_tests;
pub mod workers;

pub use buffer::Buffer;
pub use flush::Flush;
pub use settings::Settings;
