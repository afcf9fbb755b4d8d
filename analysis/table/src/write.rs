//! Tables as files.

use crate::declare::Row;
use crate::error::{FileError, Result};
use crate::parquet;
use crate::staged::Staged;
use crate::table::{columns, file};
use crate::value;
use ::parquet::arrow::ArrowWriter;
use arrow_array::RecordBatch;
use arrow_json::writer::JsonFormat;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Version of the tables' columns, in JSON files.
pub const SCHEMA_VERSION: u32 = 1;

/// Number of rows that [`Rows`] writes in one batch.
const BATCH_ROWS: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet, compressed with zstd; the columns' meanings are stored as key-value metadata.
    Parquet,
    /// A header line, then one line per row; an absent number is an empty field.
    Csv,
    /// `{schema_version, table, columns: [{name, unit, note}], rows: [{…}]}`, one line per row.
    Json,
}

impl Format {
    pub const ALL: [Self; 3] = [Self::Csv, Self::Json, Self::Parquet];

    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

type Source = Box<dyn std::error::Error + Send + Sync>;

enum Sink {
    Parquet(ArrowWriter<Staged>),
    Csv(arrow_csv::Writer<Staged>),
    Json(arrow_json::Writer<Staged, JsonRows>),
}

/// Writes a table's file batch by batch.
pub struct Writer {
    sink: Sink,
    path: PathBuf,
}

impl Writer {
    /// Creates the folder, and a file that appears at `path` once it is complete.
    pub fn create(format: Format, path: &Path, schema: &SchemaRef) -> Result<Self> {
        let mut file = Staged::create(path)?;
        let sink = match format {
            Format::Parquet => {
                Sink::Parquet(parquet::writer(file, schema).map_err(FileError::at("create", path))?)
            }
            Format::Csv => Sink::Csv(arrow_csv::Writer::new(file)),
            Format::Json => {
                json_head(&mut file, schema).map_err(FileError::at("write", path))?;
                let builder = arrow_json::WriterBuilder::new().with_explicit_nulls(true);
                Sink::Json(builder.build(file))
            }
        };
        let mut writer = Self {
            sink,
            path: path.to_owned(),
        };
        // The header of a CSV file is written with the first batch.
        writer.write(&RecordBatch::new_empty(schema.clone()))?;
        Ok(writer)
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written: Result<(), Source> = match &mut self.sink {
            Sink::Parquet(writer) => writer.write(batch).map_err(Into::into),
            Sink::Csv(writer) => writer.write(batch).map_err(Into::into),
            Sink::Json(writer) => writer.write(batch).map_err(Into::into),
        };
        written.map_err(FileError::at("write", &self.path))
    }

    /// Completes and renames the file.
    pub fn finish(self) -> Result<PathBuf> {
        let file: Result<Staged, Source> = match self.sink {
            Sink::Parquet(writer) => writer.into_inner().map_err(Into::into),
            Sink::Csv(writer) => Ok(writer.into_inner()),
            Sink::Json(mut writer) => match writer.finish() {
                Ok(()) => Ok(writer.into_inner()),
                Err(error) => Err(error.into()),
            },
        };
        file.map_err(FileError::at("write", self.path))?.finish()
    }
}

/// Writes everything that precedes the rows.
fn json_head(file: &mut Staged, schema: &Schema) -> std::io::Result<()> {
    let columns: Vec<_> = columns(schema)
        .map(|column| json!({"name": column.name, "unit": column.unit, "note": column.meaning}))
        .collect();
    let table = schema.metadata().get(crate::declare::TABLE);
    write!(
        file,
        "{{\"schema_version\":{SCHEMA_VERSION},\"table\":{},\"columns\":{},\"rows\":[",
        json!(table),
        json!(columns)
    )
}

/// Format of the rows that follow [`json_head`], and of the end of the file.
#[derive(Debug, Default)]
struct JsonRows;

impl JsonFormat for JsonRows {
    fn start_row<W: Write>(&self, writer: &mut W, is_first_row: bool) -> Result<(), ArrowError> {
        let separator: &[u8] = if is_first_row { b"\n" } else { b",\n" };
        Ok(writer.write_all(separator)?)
    }

    fn end_stream<W: Write>(&self, writer: &mut W) -> Result<(), ArrowError> {
        Ok(writer.write_all(b"\n]}\n")?)
    }
}

/// Writes a table row by row, without holding it in memory; leaves no file behind on error.
pub struct Rows<R> {
    writer: Writer,
    rows: Vec<R>,
}

impl<R: Row> Rows<R> {
    pub fn create(format: Format, folder: &Path) -> Result<Self> {
        let path = file(folder, R::TABLE, format);
        Ok(Self {
            writer: Writer::create(format, &path, &R::schema())?,
            rows: Vec::new(),
        })
    }

    pub fn push(&mut self, row: R) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() >= BATCH_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.rows.is_empty() {
            let batch = value::batch(&self.rows);
            self.rows.clear();
            self.writer.write(&batch)?;
        }
        Ok(())
    }

    /// Completes and renames the file.
    pub fn finish(mut self) -> Result<PathBuf> {
        self.flush()?;
        self.writer.finish()
    }
}
