//! The CUDA runtime of a traced program, found before libcudart. Gives traced kernels buffers, and captures their
//! accesses.
//!
//! Each folder imports only the folders before it: `cuda` (loader, types, handles), `model` (modules, graphs, memory of
//! other processes), `recorder` (launches and how they are recorded), `interpose` (functions that the program calls).

mod cuda;
mod interpose;
mod model;
mod recorder;
#[cfg(test)]
mod tests;
