//! Turns a CTA's log entries into access groups in the capture, or into aggregates.

pub(crate) mod logs;
pub mod merge;
pub(crate) mod probed;
pub mod runs;
pub(crate) mod sink;
