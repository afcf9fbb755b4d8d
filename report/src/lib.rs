//! Tables in, documents out: the figures and the report of a run, the studies of the shipped probes, and what papers published.
//!
//! This is the one crate that knows suites, programs and papers by name.

/// Makes a type a column of the texts that its `as_str` returns.
macro_rules! text_column {
    ($type:ty) => {
        impl superstep_table::Value for $type {
            const TYPE: superstep_table::arrow_schema::DataType = String::TYPE;

            fn array<'a>(
                values: impl Iterator<Item = &'a Self>,
            ) -> superstep_table::arrow_array::ArrayRef {
                let words = values.map(|value| value.as_str().to_owned());
                superstep_table::Value::array(words.collect::<Vec<String>>().iter())
            }
        }
    };
}
use text_column;

/// Declares a table with the value of each column, as the function that makes it from a slice:
/// `column: type [unit] = meaning => value;`.
macro_rules! table_from {
    ($(#[doc = $doc:literal])+ fn $name:ident($row:pat, $source:ty) = $table:literal {
        $($column:ident: $type:ty $([$unit:literal])? = $meaning:expr => $value:expr;)+
    }) => {
        $(#[doc = $doc])+
        fn $name(rows: &[$source]) -> superstep_table::Table {
            superstep_table::table! {
                $(#[doc = $doc])+
                struct Row = $table { $($column: $type $([$unit])? = $meaning;)+ }
            }
            rows.iter().map(|$row| Row { $($column: $value),+ }).collect()
        }
    };
}

pub mod claims;
mod error;
pub mod figures;
mod html;
pub mod page;
pub mod papers;
pub mod probes;
pub mod published;

pub use error::{ReportError, Result};
