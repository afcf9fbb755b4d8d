//! The CUDA runtime of a traced program, which the dynamic linker finds before libcudart. It gives each traced kernel a buffer, and writes
//! the accesses that are recorded there to the capture.
//!
//! Each folder imports only those before it: `cuda` (loader, types, handles), `model` (modules, graphs, memory of other processes),
//! `recorder` (launches and how they are recorded), `interpose` (the functions that the program calls).

mod cuda;
mod interpose;
mod model;
mod recorder;
#[cfg(test)]
mod tests;
