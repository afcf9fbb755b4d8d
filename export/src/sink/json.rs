//! JSON: `{schema_version, table, columns: [{name, note}], rows: [{…}]}`, one line a row.

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;

use crate::batch::{Batch, Schema, Value};
use crate::error::{ExportError, Result};
use crate::file::Staged;
use crate::sink::Sink;
use crate::tables::SCHEMA_VERSION;

pub struct Json {
    file: Staged,
    schema: &'static Schema<'static>,
    first: bool,
}

impl Json {
    /// Writes everything that comes before the rows.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(mut file: Staged, schema: &'static Schema<'static>) -> Result<Self> {
        let columns: Vec<_> = (schema.columns.iter())
            .map(|column| json!({"name": column.name, "note": column.note}))
            .collect();
        let path = file.path().to_owned();
        write!(
            file,
            "{{\"schema_version\":{SCHEMA_VERSION},\"table\":{},\"columns\":{},\"rows\":[",
            json!(schema.table),
            json!(columns)
        )
        .map_err(ExportError::file("write", path))?;
        Ok(Self {
            file,
            schema,
            first: true,
        })
    }

    fn row(&mut self, batch: &Batch, row: usize) -> std::io::Result<()> {
        self.file
            .write_all(if self.first { b"\n{" } else { b",\n{" })?;
        self.first = false;
        for (number, column) in self.schema.columns.iter().enumerate() {
            if number > 0 {
                self.file.write_all(b",")?;
            }
            write!(self.file, "\"{}\":", column.name)?;
            match batch.value(number, row) {
                Value::U32(value) => write!(self.file, "{value}")?,
                Value::U64(value) | Value::OptionalU64(Some(value)) => {
                    write!(self.file, "{value}")?
                }
                Value::OptionalF64(Some(value)) => write!(self.file, "{value}")?,
                Value::OptionalU64(None) | Value::OptionalF64(None) => {
                    self.file.write_all(b"null")?
                }
                Value::Text(text) => serde_json::to_writer(&mut self.file, &text)?,
            }
        }
        self.file.write_all(b"}")
    }
}

impl Sink for Json {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let path = self.file.path().to_owned();
        (0..batch.rows())
            .try_for_each(|row| self.row(batch, row))
            .map_err(ExportError::file("write", path))
    }

    fn finish(mut self: Box<Self>) -> Result<PathBuf> {
        let path = self.file.path().to_owned();
        self.file
            .write_all(b"\n]}\n")
            .map_err(ExportError::file("write", path))?;
        self.file.finish()
    }
}
