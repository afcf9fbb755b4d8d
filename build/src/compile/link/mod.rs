//! Executables, the libraries that they need, and the scripts that start them.

pub(crate) mod driver;
pub(crate) mod executable;
pub(crate) mod libraries;
pub(crate) mod loaded;
