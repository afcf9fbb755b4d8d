//! From the log entries of a CTA to access groups in the capture, or to what is aggregated in its place.

pub mod in_situ;
pub mod logs;
pub mod merge;
pub mod probed;
pub mod runs;
pub mod sink;
