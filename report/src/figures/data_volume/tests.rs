//! Tests for `data_volume`.

use super::*;
use superstep_table::read_csv;

#[test]
fn table_round_trips_through_csv_and_figure_escapes_names() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [DataVolumeRow {
        application: "a<b".into(),
        loaded_bytes: 10,
        stored_bytes: 4,
        communicated_stored_bytes: 1,
        communication_share: 0.25,
    }];
    super::super::write(&draw(&rows), folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    let files = ["csv", "svg", "png"].map(|it| folder.path().join(format!("data-volume.{it}")));
    assert_eq!(read_csv::<DataVolumeRow>(&files[0]).unwrap(), rows);
    let svg = std::fs::read_to_string(&files[1]).unwrap();
    assert!(svg.contains("role=\"img\"") && svg.contains("<title id=\"data-volume-title\">"));
    assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
    assert!(std::fs::metadata(&files[2]).unwrap().len() > 1000);
    let empty = super::super::svg(&draw(&[])).unwrap();
    assert!(empty.contains("No application"));
}
