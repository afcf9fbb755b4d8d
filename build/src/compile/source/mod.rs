//! Dialects and versions of CUDA source, and edits to it before it is compiled.

pub(crate) mod arithmetic;
pub(crate) mod compatibility;
pub(crate) mod constants;
pub(crate) mod default_stream;
pub(crate) mod macros;
pub(crate) mod sources;
