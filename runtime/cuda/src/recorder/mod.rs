//! Kernel launches and the ways to record them.

pub mod children;
pub mod count;
pub mod drain;
pub mod graph_launch;
pub mod graph_nodes;
pub mod in_situ;
pub mod launch;
pub mod opaque;
pub mod probed;
pub mod runtime;
pub mod selection;
pub mod stream;
pub mod thesis;
pub mod traced;
pub mod variables;
