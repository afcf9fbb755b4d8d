//! Data that does not fit in memory: sorted runs and pages in temporary files.

pub(crate) mod file;
pub(crate) mod limit;
pub(crate) mod shadow_file;
pub(crate) mod sorted;
