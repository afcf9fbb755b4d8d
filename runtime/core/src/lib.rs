//! Common part of the CPU and the CUDA runtime: module tables, and the session that numbers launches and writes capture and summary.
//!
//! Multiple host threads call it from `extern "C"` functions, and fault handlers do, too. So nothing panics, no lock is poisoned, and no
//! fault handler waits forever for a lock that the faulting thread holds.

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

pub use error::RuntimeError;
pub use forks::is_used_fork;
pub use loaded::{LoadedModule, loaded_module};
pub use node_graph::{BadEdge, NodeGraph};
pub use process::Identity;
pub use registry::{Registry, registry};
pub use session::{ActiveLaunch, AllocatedBy, Geometry, Session, thread_number};
