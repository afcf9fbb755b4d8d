//! Parquet, compressed with zstd: one row group a batch; each column's note lies in the file's metadata.

use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{
    Compression, ConvertedType, Encoding, Repetition, Type as Physical, ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use crate::batch::{Batch, Column, Kind, Schema, Text, Values};
use crate::error::{ExportError, Result};
use crate::file::Staged;
use crate::sink::Sink;

pub struct Parquet {
    writer: SerializedFileWriter<Staged>,
    path: PathBuf,
}

impl Parquet {
    /// Opens the file.
    ///
    /// # Errors
    /// Its head cannot be written.
    pub fn new(file: Staged, schema: &Schema<'_>) -> Result<Self> {
        let path = file.path().to_owned();
        let writer = open(file, schema).map_err(ExportError::file("write", &path))?;
        Ok(Self { writer, path })
    }

    fn group(&mut self, batch: &Batch) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for values in &batch.values {
            let Some(mut column) = group.next_column()? else {
                break;
            };
            match values {
                Values::U32(values) => {
                    let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                    column
                        .typed::<Int32Type>()
                        .write_batch(&values, None, None)?;
                }
                Values::U64(values) => {
                    let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
                    column
                        .typed::<Int64Type>()
                        .write_batch(&values, None, None)?;
                }
                Values::OptionalU64(values) => {
                    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
                    let values: Vec<i64> = values.iter().flatten().map(|&v| v as i64).collect();
                    column
                        .typed::<Int64Type>()
                        .write_batch(&values, Some(&levels), None)?;
                }
                Values::OptionalF64(values) => {
                    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
                    let values: Vec<f64> = values.iter().flatten().copied().collect();
                    column
                        .typed::<DoubleType>()
                        .write_batch(&values, Some(&levels), None)?;
                }
                Values::Text(values) => {
                    let values: Vec<ByteArray> = values.iter().map(bytes).collect();
                    column
                        .typed::<ByteArrayType>()
                        .write_batch(&values, None, None)?;
                }
            }
            column.close()?;
        }
        group.close().map(drop)
    }
}

fn bytes(text: &Text) -> ByteArray {
    match text {
        Text::Borrowed(text) => ByteArray::from(*text),
        Text::Owned(text) => ByteArray::from(text.clone().into_bytes()),
    }
}

fn open(file: Staged, schema: &Schema<'_>) -> Result<SerializedFileWriter<Staged>, ParquetError> {
    let fields = (schema.columns.iter())
        .map(field)
        .collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder(schema.table)
        .with_fields(fields)
        .build()?;
    let notes = (schema.columns.iter())
        .map(|column| KeyValue::new(column.name.to_owned(), column.note.to_owned()))
        .collect();
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("superstep ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_key_value_metadata(Some(notes));
    // Addresses and offsets hardly repeat, but their differences are small.
    for column in schema
        .columns
        .iter()
        .filter(|column| matches!(column.kind, Kind::U64 | Kind::OptionalU64))
    {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    SerializedFileWriter::new(file, Arc::new(root), Arc::new(properties.build()))
}

fn field(column: &Column<'_>) -> Result<TypePtr, ParquetError> {
    let (physical, converted) = match column.kind {
        Kind::OptionalF64 => (Physical::DOUBLE, ConvertedType::NONE),
        Kind::U32 => (Physical::INT32, ConvertedType::UINT_32),
        Kind::U64 | Kind::OptionalU64 => (Physical::INT64, ConvertedType::UINT_64),
        Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
    };
    let repetition = match column.kind {
        Kind::OptionalU64 | Kind::OptionalF64 => Repetition::OPTIONAL,
        _ => Repetition::REQUIRED,
    };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_converted_type(converted)
        .build()
        .map(Arc::new)
}

impl Sink for Parquet {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let path = self.path.clone();
        self.group(batch).map_err(ExportError::file("write", path))
    }

    fn finish(self: Box<Self>) -> Result<PathBuf> {
        let path = self.path;
        self.writer
            .into_inner()
            .map_err(ExportError::file("write", path))?
            .finish()
    }
}
