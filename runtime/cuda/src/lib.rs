//! The CUDA runtime of a traced program: found before libcudart, gives each traced kernel its buffer, and writes the
//! accesses that come back into the capture.
//!
//! Each folder imports only those before it: `cuda` (loader, types, handles), `model` (modules, graphs, memory of other processes),
//! `recorder` (launches and the ways to record them), `interpose` (the functions that the program calls).

mod cuda;
mod interpose;
mod model;
mod recorder;
#[cfg(test)]
mod tests;
