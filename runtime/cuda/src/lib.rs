//! The CUDA runtime of a traced program, found before libcudart. Gives each traced kernel a buffer, and writes its accesses to the capture.
//!
//! Each folder imports only those before it: `cuda` (loader, types, handles), `model` (modules, graphs, memory of other processes),
//! `recorder` (launches and how they are recorded), `interpose` (the functions that the program calls).

mod cuda;
mod interpose;
mod model;
mod recorder;
#[cfg(test)]
mod tests;
