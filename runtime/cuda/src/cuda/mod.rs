//! Finds and calls the functions of CUDA's own libraries. Types and constants come from cudarc, where they are
//! generated from NVIDIA's headers.

pub mod device;
pub mod driver;
pub mod graph;
mod handles;
pub mod loader;
pub mod memory;
mod status;

pub use handles::{
    Binary, Event, Function, Graph, GraphExec, GraphNode, Module, Stream, StreamArgument, Stub,
};
pub use loader::Entry;
pub(crate) use loader::{cuda, driver};
pub use status::{CudaError, Status, ask};
