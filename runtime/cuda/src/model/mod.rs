//! The program's modules, graphs and memory, as far as recording needs them.

pub mod device_heap;
pub mod globals;
pub mod graphs;
pub mod imported;
pub mod modules;
pub mod node_order;
pub mod own_nodes;
