//! `superstep-parquet`: reads a table of Superstep as an Arrow IPC stream and writes it as Parquet.
//!
//! `superstep_table::Writer` runs it with the table's file as standard output. It is a program of its own because the
//! `parquet` crate takes longer to compile than all of `superstep`, and most runs write no Parquet.

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use superstep_table::{Column, columns};

fn main() -> ExitCode {
    match convert() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn convert() -> Result<(), Box<dyn Error>> {
    let batches = StreamReader::try_new_buffered(io::stdin(), None)?;
    let schema = batches.schema();
    let file = BufWriter::with_capacity(1 << 20, io::stdout());
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(&schema)?))?;
    for batch in batches {
        writer.write(&batch?)?;
    }
    Ok(writer.into_inner()?.flush()?)
}

/// Compressed with zstd; the columns' meanings are key-value metadata.
fn properties(schema: &Schema) -> Result<WriterProperties, ParquetError> {
    let meaning =
        |column: Column<'_>| KeyValue::new(column.name.to_owned(), column.meaning.to_owned());
    let meanings = columns(schema).map(meaning);
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("superstep ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_key_value_metadata(Some(meanings.collect()));
    // Addresses and offsets hardly repeat, but their differences are small.
    let large = schema.fields().iter();
    for field in large.filter(|field| *field.data_type() == DataType::UInt64) {
        let path = ColumnPath::from(field.name().as_str());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}
