//! Code shared by the CPU and CUDA runtimes: module tables, and the session, which numbers launches and writes the capture
//! and the summary.
//!
//! This code is called from `extern "C"` functions on multiple host threads, and from fault handlers. So nothing
//! panics, no lock is poisoned, and no fault handler waits forever for a lock that the faulting thread holds.

pub mod calls;
pub mod children;
pub mod cuda;
mod error;
mod forks;
pub mod in_situ;
pub mod limits;
mod loaded;
mod node_graph;
pub mod probe;
mod process;
mod registry;
mod session;

pub use error::{ModuleError, RuntimeError};
pub use forks::is_used_fork;
pub use loaded::{LoadedModule, loaded_module};
pub use node_graph::{BadEdge, NodeGraph};
pub use registry::{Registry, registry};
pub use session::{ActiveLaunch, AllocatedBy, Geometry, Session, thread_number};
