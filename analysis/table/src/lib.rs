//! Tables that are declared once and written as CSV, JSON and Parquet.
//!
//! [`table!`] declares the type of a row together with the table's name and each column's type, unit
//! and meaning. Rows become a [`Table`], an Arrow record batch with this declaration as metadata.

mod declare;
mod error;
mod parquet;
mod staged;
mod table;
mod value;
mod write;

pub use declare::{Columns, Row, field};
pub use error::{FileError, Result};
pub use staged::{Staged, write_json};
pub use table::{Column, Table, columns, file, read_csv};
pub use value::{Cell, Value};
pub use write::{Format, Rows, SCHEMA_VERSION, Writer};

#[doc(hidden)]
pub use {arrow_array, arrow_schema, serde};
