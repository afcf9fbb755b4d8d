//! Dialects and versions of CUDA source code, and edits made to it before compilation.

pub(crate) mod arithmetic;
pub(crate) mod compatibility;
pub(crate) mod constants;
pub(crate) mod default_stream;
pub(crate) mod macros;
pub(crate) mod sources;
