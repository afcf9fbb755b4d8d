//! Executables, the libraries that they need, and what starts them.

pub(crate) mod driver;
pub(crate) mod executable;
pub(crate) mod libraries;
pub(crate) mod loaded;
