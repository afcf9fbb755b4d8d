//! Gives device IR the semantics that it has with nvcc and on a GPU, wherever Clang's semantics differ.

pub mod approximate;
pub mod assembly;
pub mod constants;
pub mod contraction;
pub mod wraps;
