//! CUDA's own libraries: how their functions are found and called.

pub mod device;
pub mod driver;
pub mod ffi;
pub mod real;
pub mod symbols;
