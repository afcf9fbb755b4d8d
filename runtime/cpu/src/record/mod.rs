//! From the log entries of a CTA to access groups in the capture, or to aggregates.

pub(crate) mod in_situ;
pub(crate) mod logs;
pub mod merge;
pub(crate) mod probed;
pub mod runs;
pub(crate) mod sink;
