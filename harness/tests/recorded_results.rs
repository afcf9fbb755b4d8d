//! Digests that a GPU gave, held against the golden ones: CI has no GPU, so a golden digest that one confirmed must not change unnoticed.

use std::path::Path;

use serde_json::Value;

const RECORDED: &str = "docs/results/2026-11-21-h200/digests.csv";

/// Programs that were changed after a GPU ran them. The records stay as they were; a newer run replaces the entry here.
///
/// `path` of 2026-11-24: its last launch keeps the border of those before, as in Rodinia's pathfinder.
const CHANGED_SINCE: [(&str, &str); 1] = [("thesis", "path")];

#[test]
fn golden_digests_that_a_gpu_confirmed_have_not_changed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let recorded = std::fs::read_to_string(root.join(RECORDED)).unwrap();
    let (mut compared, mut changed) = (0, 0);
    for line in recorded.lines().skip(1) {
        let [suite, size, program, _protocol, digest] =
            line.split(',').collect::<Vec<_>>().try_into().unwrap();
        if CHANGED_SINCE.contains(&(suite, program)) {
            changed += 1;
            continue;
        }
        let path = root.join(format!("golden/{suite}/{program}.{size}.json"));
        let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(
            golden["digest"], digest,
            "{program} of {suite} at size {size}: run the suite on a GPU again, then replace its line in {RECORDED}"
        );
        compared += 1;
    }
    assert_eq!((compared, changed), (74, 4));
}

/// What a GPU added up in situ and compared with a trace of the same program.
#[derive(serde::Deserialize)]
struct InSitu {
    suite: String,
    size: String,
    program: String,
    passed: bool,
    compared: bool,
    launches: u64,
    loads: u64,
    stores: u64,
    atomics: u64,
}

#[derive(serde::Deserialize)]
struct Suite {
    benchmarks: Vec<String>,
}

/// Programs that did not pass on the GPUs, for reasons that the README.md beside the rows gives.
const FAILED: [(&str, &str); 3] = [
    ("features", "ptx"),
    ("features", "graphs"),
    ("rodinia", "myocyte"),
];

#[test]
fn what_a_gpu_added_up_in_situ_is_what_the_golden_results_count() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for place in [
        "2026-11-24-h200",
        "2026-11-25-h100",
        "2026-11-26-h200",
        "2026-11-26-h100",
    ] {
        let recorded = std::fs::read(root.join(format!("docs/results/{place}/in-situ.json")));
        recorded_as_counted(
            &root,
            &serde_json::from_slice::<Vec<_>>(&recorded.unwrap()).unwrap(),
        );
    }
}

fn recorded_as_counted(root: &Path, rows: &[InSitu]) {
    for suite in ["thesis", "features", "cuda-sdk", "rodinia"] {
        let manifest = std::fs::read_to_string(root.join(format!("suites/{suite}/suite.yaml")));
        let names = serde_saphyr::from_str::<Suite>(&manifest.unwrap())
            .unwrap()
            .benchmarks;
        let found: Vec<_> = (rows.iter().filter(|row| row.suite == suite))
            .map(|row| row.program.as_str())
            .collect();
        assert_eq!(found, names, "the programs of {suite}");
    }
    for row in rows {
        let InSitu {
            suite,
            program,
            size,
            ..
        } = row;
        if !row.passed {
            assert!(FAILED.contains(&(suite, program)), "{program} of {suite}");
            continue;
        }
        if !row.compared {
            let path = root.join(format!("suites/{suite}/{program}.yaml"));
            let manifest = std::fs::read_to_string(path).unwrap();
            let differs = manifest.contains("\ndeterministic:");
            assert!(differs, "{program} of {suite} does the same in each run");
            continue;
        }
        let path = root.join(format!("golden/{suite}/{program}.{size}.json"));
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
    }
}
