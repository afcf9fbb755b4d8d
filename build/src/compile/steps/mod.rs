//! Commands whose results are cached by content: steps, their keys, and the cache.

pub(crate) mod cache;
pub(crate) mod depfile;
pub mod hash;
pub(crate) mod prune;
pub(crate) mod stage;
