//! The CUDA runtime of a traced program: stands before libcudart, gives each traced kernel its buffer, and writes the
//! accesses that come back into the capture.
//!
//! `interpose` has the functions that the program calls, `launch` what happens around a kernel, `consumer` and `bins` the
//! host's side of the protocol in docs/protocol-thesis.md, `monitor` times and faults. `real` is libcudart itself. Another
//! protocol replaces `bins`, `groups`, `record` and `device/probe_trace_thesis.cu`; the rest does not know them.

mod bins;
#[cfg(test)]
mod bins_tests;
mod consumer;
#[cfg(test)]
mod consumer_tests;
mod count;
mod device;
mod ffi;
mod groups;
mod interpose;
mod lanes;
mod launch;
mod layout;
mod modules;
mod monitor;
mod queue;
mod real;
mod record;
mod runtime;
#[cfg(test)]
mod test_tools;
