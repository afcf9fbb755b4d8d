//! Tests of `summary`.

use super::Summary;

#[test]
fn reads_what_a_counting_run_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.json");
    let text = r#"{"schema_version":1,"backend":"cpu","device":{"name":"x","compute_capability":[9,0]},"launches":2,
            "kernel_ns":5,"kernels":[{"name":"k","launches":2,"ns":5}],"records_lost":0,"faults":[],"warnings":["w"],
            "counts":[{"stream":0,"launch":1,"kernel":"k","sites":[[3,640]]}],"bad_addresses":0}"#;
    std::fs::write(&path, text).unwrap();
    let summary = Summary::read(&path).unwrap();
    assert_eq!(summary.counts.as_ref().unwrap()[0].sites, [(3, 640)]);
    summary.write(&path).unwrap();
    assert_eq!(Summary::read(&path).unwrap(), summary);
    let newer = text.replace("\"schema_version\":1", "\"schema_version\":2");
    std::fs::write(&path, newer).unwrap();
    assert!(
        Summary::read(&path)
            .unwrap_err()
            .to_string()
            .contains("schema version 2")
    );
    assert!(Summary::read(&folder.path().join("absent")).is_err());
}
