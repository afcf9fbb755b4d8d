//! The CUDA runtime of a traced program: stands before libcudart, gives each traced kernel its buffer, and writes the
//! accesses that come back into the capture.
//!
//! `interpose` has the functions that the program calls, `launch` what happens around a kernel, `consumer` and `bins` the
//! host's side of the protocol in docs/protocol-thesis.md, `stream` that of the one in docs/capture/protocol.md, `lanes` knows both.
//! `symbols` and `opaque` see what closed libraries launch, `calls` what some of their functions touch. `monitor` finds out times and faults. `real` is libcudart itself.

mod bins;
#[cfg(test)]
mod bins_tests;
mod calls;
mod children;
mod consumer;
#[cfg(test)]
mod consumer_tests;
mod count;
mod device;
mod device_heap;
mod driver;
mod ffi;
mod globals;
mod graph_launch;
mod graph_nodes;
mod graphs;
mod groups;
mod imported;
mod in_situ;
mod interpose;
mod lanes;
mod launch;
mod layout;
mod missing;
mod modules;
mod monitor;
mod opaque;
mod own_nodes;
mod probed;
mod queue;
mod real;
mod record;
mod resources;
mod runtime;
mod selection;
mod signals;
mod stream;
mod symbols;
#[cfg(test)]
mod test_tools;
mod traced;
mod variables;
