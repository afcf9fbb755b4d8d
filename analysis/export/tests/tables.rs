//! Tables of a capture, in each format.

mod common;

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use common::{BASE, LOAD, STORE, group, worked_example};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use superstep_export::tables::{Format, TableName, write};
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{AccessGroup, AllocationKind, Launch};

fn text(format: Format, table: TableName) -> String {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(&folder.path().join("capture"));
    let path = write(&capture, table, format, &folder.path().join("out")).unwrap();
    assert_eq!(
        fs::read_dir(folder.path().join("out")).unwrap().count(),
        1,
        "nothing but the file is left"
    );
    fs::read_to_string(path).unwrap()
}

fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn accesses_are_written_as_csv() {
    let expected = "launch,site,op,cta,warp,lane,sm,width_bytes,address,allocation,offset
0,1,store,0,0,0,5,4,123145302310912,0,0
0,1,store,0,0,1,5,4,123145302310916,0,4
0,1,store,1,0,0,6,4,123145302310920,0,8
0,1,store,1,0,1,6,4,123145302310924,0,12
1,0,load,0,0,0,5,4,123145302310916,0,4
1,0,load,0,0,1,5,4,123145302310920,0,8
1,0,load,0,0,0,5,4,123145302310916,0,4
1,0,load,0,0,1,5,4,123145302310920,0,8
1,0,load,1,0,0,5,4,123145302310920,0,8
1,0,load,1,0,1,5,4,123145302310928,0,16
";
    assert_eq!(text(Format::Csv, TableName::Accesses), expected);
}

#[test]
fn a_launch_by_a_kernel_names_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let module = testing::module("step.cu", Vec::new(), &[("_Z1av", "a"), ("_Z1bv", "b")]);
    let mut capture = CaptureBuilder::new(folder.path(), &module);
    let other = capture.launch::<Vec<AccessGroup>>(testing::launch("_Z1bv", 1, 1), &[]);
    capture.allocate(BASE, 8, AllocationKind::Device);
    let first = capture.launch::<Vec<AccessGroup>>(testing::launch("_Z1av", 1, 1), &[]);
    let child = Launch {
        parent: Some(first.sequence),
        ..other
    };
    capture.launch::<Vec<AccessGroup>>(child, &[]);
    let capture = Arc::new(capture.finish());
    let path = write(&capture, TableName::Launches, Format::Csv, folder.path()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let parents = text.lines().map(|line| line.split(',').nth(5).unwrap());
    assert_eq!(parents.collect::<Vec<_>>(), ["parent", "", "", "1"]);
}

#[test]
fn the_other_tables_are_written_as_csv() {
    assert_eq!(
        text(Format::Csv, TableName::Launches),
        "launch,stream,superstep,kernel,kernel_symbol,parent,grid_x,grid_y,grid_z,block_x,block_y,block_z,static_shared_bytes,dynamic_shared_bytes,thread_accesses,elapsed_ns,outcome
0,0,0,write,_Z5writePf,,2,2,1,32,1,1,64,0,4,1500,completed
1,0,1,read,_Z4readPf,,2,2,1,32,1,1,64,0,6,1500,completed
"
    );
    assert_eq!(
        text(Format::Csv, TableName::Sites),
        "site,module,function,file,line,column,op,width_bytes,proof
0,0,_Z4stepPf,step.cu,7,3,load,4,proven
1,0,_Z4stepPf,step.cu,8,3,store,4,proven
2,0,_Z4stepPf,step.cu,9,3,atomic_add,4,proven
"
    );
    assert_eq!(
        text(Format::Csv, TableName::Allocations),
        "allocation,kind,name,file,line,address,bytes,sequence,freed_sequence
0,device,#0,,0,123145302310912,4096,0,3
"
    );
    // docs/metrics.md: three transfers of 4 bytes with a count of 1.
    assert_eq!(
        text(Format::Csv, TableName::Transfers),
        "source_launch,source_cta,receiver_launch,receiver_cta,bytes,count
0,0,1,0,4,1
0,1,1,0,4,1
0,1,1,1,4,1
"
    );
}

#[test]
fn json_has_the_same_rows_with_units_and_meanings() {
    let json: serde_json::Value =
        serde_json::from_str(&text(Format::Json, TableName::Accesses)).unwrap();
    assert_eq!(json["table"], "accesses");
    assert_eq!(json["columns"][8]["name"], "address");
    assert_eq!(json["rows"].as_array().unwrap().len(), 10);
    assert_eq!(json["rows"][9]["offset"], 16);
    assert_eq!(json["rows"][9]["op"], "load");
}

#[test]
fn an_address_outside_all_allocations_has_no_allocation_in_any_format() {
    let folder = tempfile::tempdir().unwrap();
    let outside = group(LOAD, 0, 0, &[5000]);
    let capture = common::capture(&folder.path().join("capture"), &[("read", vec![outside])]);
    let out = folder.path().join("out");
    let csv = write(&capture, TableName::Accesses, Format::Csv, &out).unwrap();
    assert!(
        fs::read_to_string(csv)
            .unwrap()
            .ends_with(&format!(",4,{},,\n", BASE + 20000))
    );
    let json = write(&capture, TableName::Accesses, Format::Json, &out).unwrap();
    assert!(
        fs::read_to_string(json)
            .unwrap()
            .contains("\"allocation\":null,\"offset\":null}")
    );
    let parquet = write(&capture, TableName::Accesses, Format::Parquet, &out).unwrap();
    assert!(
        rows(&parquet)[0]
            .to_string()
            .contains("allocation: null, offset: null")
    );
}

#[test]
fn parquet_has_the_same_values_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(&folder.path().join("capture"));
    for table in TableName::ALL {
        let csv = write(&capture, table, Format::Csv, folder.path()).unwrap();
        let parquet = write(&capture, table, Format::Parquet, folder.path()).unwrap();
        let mut reader = csv::Reader::from_path(&csv).unwrap();
        let header = reader.headers().unwrap().clone();
        let expected: Vec<Vec<String>> = (reader.records())
            .map(|record| record.unwrap().iter().map(str::to_owned).collect())
            .collect();
        let found: Vec<Vec<String>> = (rows(&parquet).iter())
            .map(|row| {
                let values = row
                    .get_column_iter()
                    .map(|(_, value)| match value.to_string() {
                        text if text == "null" => String::new(),
                        text => text.trim_matches('"').to_owned(),
                    });
                values.collect()
            })
            .collect();
        assert_eq!(found, expected, "{table:?}");
        let names: Vec<String> = (rows(&parquet)[0].get_column_iter())
            .map(|(name, _)| name.clone())
            .collect();
        assert_eq!(names, header.iter().collect::<Vec<_>>(), "{table:?}");
    }
}

#[test]
fn large_addresses_stay_unsigned() {
    let folder = tempfile::tempdir().unwrap();
    let mut high = group(STORE, u32::MAX - 1, 0, &[0]);
    high.addresses[0] = u64::MAX - 3;
    let capture = common::capture(&folder.path().join("capture"), &[("write", vec![high])]);
    let path = write(
        &capture,
        TableName::Accesses,
        Format::Parquet,
        folder.path(),
    )
    .unwrap();
    let row = rows(&path)[0].to_string();
    assert!(row.contains(&format!("address: {}", u64::MAX - 3)), "{row}");
    assert!(row.contains(&format!("cta: {}", u32::MAX - 1)), "{row}");
}

#[test]
fn the_error_names_a_path_that_cannot_be_created() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(&folder.path().join("capture"));
    let taken = folder.path().join("taken");
    fs::write(&taken, "a file").unwrap();
    let error = write(&capture, TableName::Sites, Format::Csv, &taken)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("failed to create") && error.contains("taken"),
        "{error}"
    );
}
