//! A table in memory.

use crate::declare::{MEANING, Row, TABLE, UNIT, field, owned};
use crate::error::{FileError, Result};
use crate::value;
use crate::write::{Format, Writer};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_json::ReaderBuilder;
use arrow_schema::{ArrowError, DataType, Field, Metadata, Schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    batch: RecordBatch,
}

#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    pub name: &'a str,
    /// Empty for names and counts.
    pub unit: &'a str,
    pub meaning: &'a str,
    pub is_number: bool,
}

pub fn columns(schema: &Schema) -> impl Iterator<Item = Column<'_>> {
    schema.fields().iter().map(|field| Column {
        name: field.name(),
        unit: text(field.metadata(), UNIT),
        meaning: text(field.metadata(), MEANING),
        is_number: field.data_type().is_numeric(),
    })
}

fn text<'a>(metadata: &'a Metadata, key: &str) -> &'a str {
    metadata.get(key).map_or("", String::as_str)
}

impl Table {
    pub fn of<'a, R: Row + 'a>(rows: impl IntoIterator<Item = &'a R>) -> Self {
        Self {
            batch: value::batch(rows),
        }
    }

    /// Returns the table with a column inserted in front of the others.
    pub fn after<V: value::Value>(&self, name: &str, meaning: &str, values: &[V]) -> Self {
        let schema = self.batch.schema();
        let mut fields = vec![Arc::new(field::<V>(name, "", meaning))];
        fields.extend(schema.fields().iter().cloned());
        let mut arrays = vec![value::column(values)];
        arrays.extend(self.batch.columns().iter().cloned());
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        let batch = RecordBatch::try_new(Arc::new(schema), arrays);
        Self {
            batch: batch.expect("one value for each row"),
        }
    }

    /// Returns the table with `unit` in place of `from` in the columns whose names `chosen` accepts.
    #[must_use]
    pub fn in_unit(&self, from: &str, unit: &str, chosen: impl Fn(&str) -> bool) -> Self {
        let schema = self.batch.schema();
        let fields = schema.fields().iter().map(|field| {
            let mut metadata = field.metadata().clone();
            if text(&metadata, UNIT) == from && chosen(field.name()) {
                metadata.insert(UNIT.to_owned(), unit.to_owned());
            }
            field.as_ref().clone().with_metadata(metadata)
        });
        let fields: Vec<_> = fields.collect();
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        let batch = RecordBatch::try_new(Arc::new(schema), self.batch.columns().to_vec());
        Self {
            batch: batch.expect("the same columns"),
        }
    }

    /// Returns the table's name, which is also the name of its files without the extension.
    pub fn name(&self) -> &str {
        text(self.batch.schema_ref().metadata(), TABLE)
    }

    /// Returns the meaning of a row.
    pub fn meaning(&self) -> &str {
        text(self.batch.schema_ref().metadata(), MEANING)
    }

    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    pub fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        columns(self.batch.schema_ref())
    }

    /// Returns the cells of a row as they appear in CSV, `None` for an empty one. Panics if there is no such row.
    pub fn texts(&self, row: usize) -> Vec<Option<String>> {
        let arrays = self.batch.columns().iter();
        arrays.map(|array| cell(array.as_ref(), row)).collect()
    }

    /// Returns a cell as it appears in CSV, `None` if it is empty. Panics if there is no such row or column.
    pub fn text(&self, row: usize, column: &str) -> Option<String> {
        let array = self.batch.column_by_name(column);
        let array = array.unwrap_or_else(|| panic!("{} has no column {column}", self.name()));
        cell(array.as_ref(), row)
    }

    /// Reads a table that was written as [`Format::Json`]. The values determine the columns' types: 64-bit numbers,
    /// booleans or text. The meaning of a row is not in the file.
    pub fn read_json(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(FileError::at("read", path))?;
        let file = serde_json::from_reader(BufReader::new(file));
        let file: JsonFile = file.map_err(FileError::at("read", path))?;
        let batch = file.batch().map_err(FileError::at("read", path))?;
        Ok(Self { batch })
    }

    /// Writes the table to `path`, which is returned; leaves no file behind on error.
    pub fn write(&self, format: Format, path: &Path) -> Result<PathBuf> {
        let mut writer = Writer::create(format, path, self.batch.schema_ref())?;
        writer.write(&self.batch)?;
        writer.finish()
    }

    /// Writes `<folder>/<name>` in each of `formats` and returns the paths; creates the folder.
    pub fn write_into(&self, folder: &Path, formats: &[Format]) -> Result<Vec<PathBuf>> {
        let paths = formats
            .iter()
            .map(|&it| (it, file(folder, self.name(), it)));
        (paths.map(|(format, path)| self.write(format, &path))).collect()
    }
}

#[derive(Deserialize)]
struct JsonFile {
    table: String,
    columns: Vec<JsonColumn>,
    rows: Vec<Value>,
}

#[derive(Deserialize)]
struct JsonColumn {
    name: String,
    unit: String,
    note: String,
}

impl JsonFile {
    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let fields = self.columns.iter().map(|column| {
            let values = self.rows.iter().filter_map(|row| row.get(&column.name));
            let types = values.filter_map(data_type);
            let data = types.reduce(|first, other| match first == other {
                true => first,
                false => DataType::Float64,
            });
            let data = data.unwrap_or(DataType::Utf8);
            let metadata = [(UNIT, &*column.unit), (MEANING, &*column.note)];
            Field::new(&column.name, data, true).with_metadata(owned(metadata))
        });
        let fields: Vec<_> = fields.collect();
        let metadata = owned([(TABLE, &*self.table)]);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let mut decoder = ReaderBuilder::new(Arc::clone(&schema))
            .with_batch_size(self.rows.len())
            .build_decoder()?;
        decoder.serialize(&self.rows)?;
        let batch = decoder.flush()?;
        Ok(batch.unwrap_or_else(|| RecordBatch::new_empty(schema)))
    }
}

fn data_type(value: &Value) -> Option<DataType> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(DataType::Boolean),
        Value::Number(number) if number.is_u64() => Some(DataType::UInt64),
        Value::Number(_) => Some(DataType::Float64),
        _ => Some(DataType::Utf8),
    }
}

impl<R: Row> FromIterator<R> for Table {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        Self::of(&rows.into_iter().collect::<Vec<_>>())
    }
}

fn cell(array: &dyn Array, row: usize) -> Option<String> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options).expect("no column is nested");
    (array.is_valid(row)).then(|| formatter.value(row).to_string())
}

/// Returns `<folder>/<table>.<extension>`.
pub fn file(folder: &Path, table: &str, format: Format) -> PathBuf {
    folder.join(format!("{table}.{}", format.extension()))
}

/// Reads the rows of a CSV file by column name.
pub fn read_csv<R: DeserializeOwned>(path: &Path) -> Result<Vec<R>> {
    let file = File::open(path).map_err(FileError::at("read", path))?;
    let rows: Result<_, csv::Error> = csv::Reader::from_reader(file).into_deserialize().collect();
    rows.map_err(FileError::at("read", path))
}
