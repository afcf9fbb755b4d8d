//! The CUDA runtime of a traced program, which the dynamic linker finds before libcudart. It provides traced kernels
//! with buffers and captures their accesses.
//!
//! Each folder imports only from the folders listed before it: `cuda` (loader, types, handles), `model` (modules,
//! graphs, imported memory), `recorder` (launches and their recording), `interpose` (functions that the program calls).

mod cuda;
mod interpose;
mod model;
mod recorder;
#[cfg(test)]
mod tests;
