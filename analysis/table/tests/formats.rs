//! Tests that one table declaration produces three file formats.

use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use superstep_table::{FileError, Format, Rows, Table, read_csv, table};

table! {
    /// Amount of data read.
    struct Read: Eq, serde::Deserialize {
        lines: u64 ["lines of 32 bytes"] = "lines that were read";
        r#type: u32 = "kind of read";
    }
}

table! {
    /// One program.
    ///
    /// In the order of the run.
    struct ProgramRow = "programs" {
        program: String = "the program";
        share: f64 = "share of all reads";
        read: Read;
        published: Option<f64> ["%"] = "published value; empty if none";
        is_new: bool = "whether it is new";
    }
}

fn rows() -> [ProgramRow; 2] {
    let row = |program: &str, share, published| ProgramRow {
        program: program.to_owned(),
        share,
        read: Read {
            lines: u64::MAX,
            r#type: 7,
        },
        published,
        is_new: true,
    };
    [row("a,\"b\"", 1.0, None), row("c", 0.1, Some(2e-7))]
}

fn write_rows(format: Format, folder: &Path) -> Result<PathBuf, FileError> {
    let mut table = Rows::create(format, folder)?;
    rows().into_iter().try_for_each(|row| table.push(row))?;
    table.finish()
}

#[test]
fn a_table_has_its_declaration_as_metadata() {
    let table = Table::of(&rows());
    assert_eq!(table.name(), "programs");
    assert_eq!(table.meaning(), "One program. In the order of the run.");
    let columns: Vec<_> = table
        .columns()
        .map(|column| (column.name, column.unit, column.is_number))
        .collect();
    assert_eq!(
        columns,
        [
            ("program", "", false),
            ("share", "", true),
            ("lines", "lines of 32 bytes", true),
            ("type", "", true),
            ("published", "%", true),
            ("is_new", "", false),
        ]
    );
    assert_eq!(table.text(1, "published").unwrap(), "2e-7");
    assert_eq!(table.text(0, "published"), None);
    let numbered = table.after("number", "from 0", &[0u64, 1]);
    assert_eq!(numbered.columns().next().unwrap().meaning, "from 0");
    assert_eq!(
        numbered.texts(1)[..2],
        ["1", "c"].map(|text| Some(text.to_owned()))
    );
}

#[test]
fn csv_has_a_header_even_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_rows(Format::Csv, folder.path()).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "program,share,lines,type,published,is_new\n\
         \"a,\"\"b\"\"\",1.0,18446744073709551615,7,,true\n\
         c,0.1,18446744073709551615,7,2e-7,true\n"
    );
    let read: Vec<Read> = read_csv(&path).unwrap();
    assert_eq!(read, rows().map(|row| row.read));
    let empty = Rows::<ProgramRow>::create(Format::Csv, folder.path()).unwrap();
    assert_eq!(
        fs::read_to_string(empty.finish().unwrap()).unwrap(),
        "program,share,lines,type,published,is_new\n"
    );
}

#[test]
fn json_has_the_meanings_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    for rows in [&rows()[..], &[]] {
        let files = Table::of(rows).write_into(folder.path(), &[Format::Json]);
        let text = fs::read_to_string(&files.unwrap()[0]).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(json["table"], "programs");
        assert_eq!(json["columns"][2]["name"], "lines");
        assert_eq!(json["columns"][2]["unit"], "lines of 32 bytes");
        assert_eq!(json["columns"][2]["note"], "lines that were read");
        assert_eq!(json["rows"].as_array().unwrap().len(), rows.len());
        if !rows.is_empty() {
            assert_eq!(json["rows"][0]["lines"], u64::MAX);
            assert!(json["rows"][0]["published"].is_null());
            assert_eq!(json["rows"][1]["share"], 0.1);
            assert_eq!(json["rows"][1]["is_new"], true);
        }
    }
}

#[test]
fn json_files_round_trip_rows_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    for rows in [&rows()[..], &[]] {
        let written = Table::of(rows);
        let files = written.write_into(folder.path(), &[Format::Json]).unwrap();
        let read = Table::read_json(&files[0]).unwrap();
        assert_eq!((read.name(), read.rows()), ("programs", rows.len()));
        for (read, written) in read.columns().zip(written.columns()) {
            assert_eq!(
                (read.name, read.unit, read.meaning),
                (written.name, written.unit, written.meaning)
            );
            assert_eq!(
                read.is_number,
                written.is_number && !rows.is_empty(),
                "{read:?}"
            );
        }
        for row in 0..rows.len() {
            assert_eq!(read.texts(row), written.texts(row));
        }
    }
    let file = folder.path().join("other.json");
    fs::write(&file, "{}").unwrap();
    let error = Table::read_json(&file).unwrap_err().to_string();
    assert!(error.contains("other.json: missing field"), "{error}");
}

#[test]
fn parquet_has_the_declared_types_and_the_meanings() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_rows(Format::Parquet, folder.path()).unwrap();
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let file = reader.metadata().file_metadata();
    let types: Vec<String> = (file.schema().get_fields().iter())
        .map(|field| {
            let info = field.get_basic_info();
            let (optional, kind) = (field.is_optional(), info.converted_type());
            let name = info.name();
            format!("{name} {} {kind} {optional}", field.get_physical_type())
        })
        .collect();
    assert_eq!(
        types,
        [
            "program BYTE_ARRAY UTF8 false",
            "share DOUBLE NONE false",
            "lines INT64 UINT_64 false",
            "type INT32 UINT_32 false",
            "published DOUBLE NONE true",
            "is_new BOOLEAN NONE false",
        ]
    );
    let metadata = file.key_value_metadata().unwrap();
    let lines = metadata.iter().find(|pair| pair.key == "lines").unwrap();
    assert_eq!(lines.value.as_deref(), Some("lines that were read"));
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(
        row.to_string(),
        "{program: \"a,\"b\"\", share: 1.0, lines: 18446744073709551615, type: 7, published: null, is_new: true}"
    );
}

#[test]
fn an_unfinished_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = Rows::create(Format::Json, folder.path()).unwrap();
    rows().into_iter().for_each(|row| table.push(row).unwrap());
    drop(table);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let taken = folder.path().join("taken");
    fs::write(&taken, "a file").unwrap();
    let error = write_rows(Format::Csv, &taken).unwrap_err();
    assert!(error.to_string().contains("taken"), "{error}");
}
