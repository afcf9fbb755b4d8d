//! CSV: a header line, then one line a row; an absent number is an empty field.

use std::path::PathBuf;

use crate::batch::{Batch, Schema, Value};
use crate::error::{ExportError, Result};
use crate::file::Staged;
use crate::sink::Sink;

pub struct Csv {
    writer: csv::Writer<Staged>,
    path: PathBuf,
}

impl Csv {
    /// Writes the header.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(file: Staged, schema: &Schema<'_>) -> Result<Self> {
        let path = file.path().to_owned();
        let mut writer = csv::Writer::from_writer(file);
        writer
            .write_record(schema.columns.iter().map(|column| column.name))
            .map_err(ExportError::file("write", &path))?;
        Ok(Self { writer, path })
    }
}

impl Sink for Csv {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        for row in 0..batch.rows() {
            let fields = (0..batch.values.len()).map(|column| match batch.value(column, row) {
                Value::U32(value) => value.to_string(),
                Value::U64(value) => value.to_string(),
                Value::OptionalU64(value) => {
                    value.map(|value| value.to_string()).unwrap_or_default()
                }
                Value::OptionalF64(value) => {
                    value.map(|value| value.to_string()).unwrap_or_default()
                }
                Value::Text(text) => text.into_owned(),
            });
            self.writer
                .write_record(fields)
                .map_err(ExportError::file("write", &self.path))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<PathBuf> {
        self.writer
            .into_inner()
            .map_err(ExportError::file("write", &self.path))?
            .finish()
    }
}
