//! A run as a whole: its protocol, its summary, its failure.

pub(crate) mod failure;
pub(crate) mod journal;
pub(crate) mod protocol;
pub(crate) mod reproducibility;
pub(crate) mod summary;
