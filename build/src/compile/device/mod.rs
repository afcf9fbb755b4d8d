//! Compiles device code from IR to GPU binaries.

pub(crate) mod explain;
pub(crate) mod gpu;
pub(crate) mod ptxas;
pub(crate) mod registers;
pub(crate) mod support;
