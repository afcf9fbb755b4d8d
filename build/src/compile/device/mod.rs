//! Device code from IR to binaries of GPUs.

pub(crate) mod explain;
pub(crate) mod gpu;
pub(crate) mod ptxas;
pub(crate) mod registers;
pub(crate) mod support;
