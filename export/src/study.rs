//! Tables of an analysis as Parquet.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use superstep_analysis::tables::Table;

use crate::batch::{Batch, Column, Kind, Schema, Text, Value, column};
use crate::error::Result;
use crate::file::Staged;
use crate::sink::{Parquet, Sink};

/// Writes `<folder>/<table>.parquet`, with the rows of the CSV and JSON files of the same name. A column of whole numbers has 64 bits
/// without a sign, one with others is floating-point, and anything else is text, truth included.
///
/// # Errors
/// The file cannot be written.
pub fn write(table: &Table, folder: &Path) -> Result<PathBuf> {
    let kind = |index: usize| {
        let mut kind = Kind::OptionalU64;
        for value in table.rows.iter().filter_map(|row| row.get(index)) {
            match value {
                Json::Null => {}
                Json::Number(number) if number.is_u64() => {}
                Json::Number(_) => kind = Kind::OptionalF64,
                _ => return Kind::Text,
            }
        }
        kind
    };
    let columns: Vec<Column<'_>> = (table.columns.iter().enumerate())
        .map(|(index, own)| column(own.name, kind(index), own.note))
        .collect();
    let schema = Schema {
        table: table.name,
        columns: &columns,
    };
    let mut batch = Batch::new(&schema);
    for row in &table.rows {
        let cells = columns.iter().enumerate().map(|(index, column)| {
            let value = row.get(index).unwrap_or(&Json::Null);
            match (column.kind, value) {
                (Kind::OptionalF64, value) => Value::OptionalF64(value.as_f64()),
                (Kind::Text, Json::String(text)) => Value::Text(Text::Owned(text.clone())),
                (Kind::Text, Json::Null) => Value::Text(Text::Borrowed("")),
                (Kind::Text, value) => Value::Text(Text::Owned(value.to_string())),
                (_, value) => Value::OptionalU64(value.as_u64()),
            }
        });
        batch.push(cells);
    }
    let path = folder.join(format!("{}.parquet", table.name));
    let mut sink = Box::new(Parquet::new(Staged::create(&path)?, &schema)?);
    sink.write(&batch)?;
    sink.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use serde_json::json;
    use superstep_analysis::tables::Column;

    #[test]
    fn columns_have_the_kind_of_their_values() {
        let names = ["program", "count", "share", "is_scalar", "published"];
        let note = "n";
        let table = Table {
            name: "t",
            columns: names
                .map(|name| Column {
                    name,
                    unit: "",
                    note,
                })
                .to_vec(),
            rows: vec![
                vec![json!("a"), json!(1), json!(0.5), json!(true), json!(null)],
                vec![json!("b"), json!(2), json!(3), json!(false), json!(7.5)],
            ],
        };
        let folder = tempfile::tempdir().unwrap();
        let path = write(&table, folder.path()).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let rows: Vec<Vec<Field>> = (reader.get_row_iter(None).unwrap())
            .map(|row| {
                row.unwrap()
                    .get_column_iter()
                    .map(|(_, field)| field.clone())
                    .collect()
            })
            .collect();
        let text = |text: &str| Field::Str(text.to_owned());
        assert_eq!(
            rows[0],
            [
                text("a"),
                Field::ULong(1),
                Field::Double(0.5),
                text("true"),
                Field::Null
            ]
        );
        assert_eq!(
            rows[1],
            [
                text("b"),
                Field::ULong(2),
                Field::Double(3.0),
                text("false"),
                Field::Double(7.5)
            ]
        );
    }
}
