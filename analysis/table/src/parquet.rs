//! Tables as Parquet.

use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::staged::Staged;
use crate::table::{Column, columns};

/// Creates a writer that compresses with zstd and stores the columns' meanings as key-value metadata.
pub(crate) fn writer(
    file: Staged,
    schema: &SchemaRef,
) -> Result<ArrowWriter<Staged>, ParquetError> {
    let meaning =
        |column: Column<'_>| KeyValue::new(column.name.to_owned(), column.meaning.to_owned());
    let meanings = columns(schema).map(meaning);
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("superstep ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_key_value_metadata(Some(meanings.collect()));
    // Addresses and offsets rarely repeat, but their differences are small.
    let fields = schema.fields().iter();
    for field in fields.filter(|field| *field.data_type() == DataType::UInt64) {
        let path = ColumnPath::from(field.name().as_str());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    ArrowWriter::try_new(file, schema.clone(), Some(properties.build()))
}
