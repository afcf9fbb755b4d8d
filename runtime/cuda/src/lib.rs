//! The CUDA runtime of a traced program. The dynamic linker finds it before libcudart; it gives each traced kernel a
//! buffer and writes the accesses recorded there to the capture.
//!
//! Each folder imports only those before it: `cuda` (loader, types, handles), `model` (modules, graphs, memory of other processes),
//! `recorder` (launches and the ways to record them), `interpose` (the functions that the program calls).

mod cuda;
mod interpose;
mod model;
mod recorder;
#[cfg(test)]
mod tests;
