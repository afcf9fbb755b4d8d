//! Turns tables into documents: the figures and the report of a run, the studies of the built-in probes, and
//! comparisons with published results.
//!
//! Only this crate refers to suites, programs and papers by name.

/// Makes a type usable as a table column, using the text that its `name` returns.
macro_rules! text_column {
    ($type:ty) => {
        impl superstep_table::Value for $type {
            const TYPE: superstep_table::arrow_schema::DataType = String::TYPE;

            fn cell(&self) -> superstep_table::Cell<'_> {
                superstep_table::Cell::Text(self.name())
            }
        }
    };
}
use text_column;

pub mod claims;
mod error;
pub mod figures;
mod html;
pub mod page;
pub mod papers;
pub mod probes;
pub mod published;

pub use error::{ReportError, Result};
