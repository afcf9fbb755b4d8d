//! Exports captures to other tools' formats, and imports other tools' traces as captures.
//!
//! | function | output |
//! |---|---|
//! | [`tables::write`] | accesses, launches, sites, allocations and transfers as Parquet, CSV or JSON |
//! | [`accesses::read`] | accesses as Arrow record batches, decoded on multiple threads |
//! | [`appendix_b`] | the three structures from appendix B of Rieber 2017 as JSON or pickle |
//! | [`timeline::write`] | the launches and copies as a Chrome trace |
//! | [`probe::write`] | the results of a probe as Parquet, CSV or JSON |
//! | [`nvbit::import`] | a capture, from NVBit `mem_trace` output |
//!
//! `docs/exports.md` lists every column and key.

pub mod accesses;
pub mod appendix_b;
mod error;
pub mod nvbit;
pub mod probe;
pub mod tables;
pub mod timeline;

pub use error::{ExportError, Result};
