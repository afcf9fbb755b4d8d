//! Gives device IR the semantics of nvcc and of GPUs where Clang's semantics differ.

pub mod approximate;
pub mod assembly;
pub mod constants;
pub mod contraction;
pub mod wraps;
