//! Properties of a whole run: its protocol, summary and failure.

pub(crate) mod failure;
pub(crate) mod journal;
pub(crate) mod protocol;
pub(crate) mod reproducibility;
pub(crate) mod summary;
