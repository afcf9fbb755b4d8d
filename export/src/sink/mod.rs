//! Formats of tables: each takes batches and leaves a file.

mod json;
mod parquet;
mod text;

use std::path::{Path, PathBuf};

use crate::batch::{Batch, Schema};
use crate::error::Result;
use crate::file::Staged;
use crate::tables::Format;

/// A table that is being written.
pub trait Sink {
    /// Appends rows.
    ///
    /// # Errors
    /// They cannot be written.
    fn write(&mut self, batch: &Batch) -> Result<()>;

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// The rest cannot be written.
    fn finish(self: Box<Self>) -> Result<PathBuf>;
}

/// Opens `<folder>/<table>.<extension>`.
///
/// # Errors
/// The file cannot be created.
pub fn create(format: Format, folder: &Path, schema: &'static Schema) -> Result<Box<dyn Sink>> {
    let path = folder.join(format!("{}.{}", schema.table, format.extension()));
    let file = Staged::create(&path)?;
    Ok(match format {
        Format::Parquet => Box::new(parquet::Parquet::new(file, schema)?),
        Format::Csv => Box::new(text::Csv::new(file, schema)?),
        Format::Json => Box::new(json::Json::new(file, schema)?),
    })
}
