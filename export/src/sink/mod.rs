//! Formats of tables: each takes batches and leaves a file.

mod json;
mod parquet;
mod text;

use std::path::{Path, PathBuf};

use crate::batch::{Batch, Schema, Value};
use crate::error::Result;
use crate::file::Staged;
use crate::tables::Format;

pub use parquet::Parquet;

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
pub fn create(
    format: Format,
    folder: &Path,
    schema: &'static Schema<'static>,
) -> Result<Box<dyn Sink>> {
    let path = folder.join(format!("{}.{}", schema.table, format.extension()));
    let file = Staged::create(&path)?;
    Ok(match format {
        Format::Parquet => Box::new(parquet::Parquet::new(file, schema)?),
        Format::Csv => Box::new(text::Csv::new(file, schema)?),
        Format::Json => Box::new(json::Json::new(file, schema)?),
    })
}

/// Rows that are written together.
const BATCH_ROWS: usize = 1 << 18;

/// A table that is written row by row, some of them at a time.
pub struct Rows {
    schema: &'static Schema<'static>,
    sink: Box<dyn Sink>,
    batch: Batch,
}

impl Rows {
    /// Opens the table's file in `folder`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(format: Format, folder: &Path, schema: &'static Schema<'static>) -> Result<Self> {
        Ok(Self {
            schema,
            sink: create(format, folder, schema)?,
            batch: Batch::new(schema),
        })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// The rows so far cannot be written.
    pub fn push<const N: usize>(&mut self, row: [Value; N]) -> Result<()> {
        self.batch.push(row);
        if self.batch.rows() >= BATCH_ROWS {
            let full = std::mem::replace(&mut self.batch, Batch::new(self.schema));
            self.sink.write(&full)?;
        }
        Ok(())
    }

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// The rest cannot be written.
    pub fn finish(mut self) -> Result<PathBuf> {
        self.sink.write(&self.batch)?;
        self.sink.finish()
    }
}
