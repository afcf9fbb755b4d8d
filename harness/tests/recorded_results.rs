//! Compares golden results with results recorded on GPUs. Without needing a GPU in CI, this detects changes to golden
//! results that were confirmed on one.

use std::path::Path;

use serde_json::Value;

/// Digests recorded on an H200, by suite, size, program and protocol.
const DIGESTS: &str = "harness/tests/data/gpu-digests.csv";

#[test]
fn golden_digests_confirmed_on_a_gpu_are_unchanged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let recorded = std::fs::read_to_string(root.join(DIGESTS)).unwrap();
    let mut compared = 0;
    for line in recorded.lines().skip(1) {
        let [suite, size, program, _protocol, digest] =
            line.split(',').collect::<Vec<_>>().try_into().unwrap();
        let path = root.join(format!("golden/{suite}/{program}.{size}.json"));
        let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(
            golden["digest"], digest,
            "{program} of {suite} at size {size}: run the suite on a GPU again, then replace the program's line in {DIGESTS}"
        );
        compared += 1;
    }
    assert!(compared > 0);
}

/// One program's in-situ counts, confirmed by a trace on the same GPU if `compared` is set.
#[derive(serde::Deserialize)]
struct InSitu {
    suite: String,
    size: String,
    program: String,
    compared: bool,
    launches: u64,
    loads: u64,
    stores: u64,
    atomics: u64,
}

#[test]
fn counts_in_situ_on_a_gpu_equal_the_golden_counts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for device in ["h200", "h100"] {
        let path = root.join(format!("harness/tests/data/in-situ-{device}.json"));
        let rows: Vec<InSitu> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let mut compared = 0;
        // The other programs' counts vary.
        for row in rows.iter().filter(|row| row.compared) {
            let (suite, program) = (&row.suite, &row.program);
            let path = root.join(format!("golden/{suite}/{program}.{}.json", row.size));
            let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let sum = |field: &str| -> u64 {
                let kernels = golden["kernels"].as_array().unwrap();
                kernels.iter().map(|it| it[field].as_u64().unwrap()).sum()
            };
            assert_eq!(golden["launches"], row.launches, "{program} of {suite}");
            assert_eq!(
                (sum("loads"), sum("stores"), sum("atomics")),
                (row.loads, row.stores, row.atomics),
                "{program} of {suite}"
            );
            compared += 1;
        }
        assert!(compared > 0);
    }
}
