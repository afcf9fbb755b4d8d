//! Results that a GPU gave, held against the golden files: CI has no GPU, so what one proved is committed, and stays true.

use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn recorded_runs() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(root().join("docs/results")).unwrap();
    let mut runs: Vec<PathBuf> = folders
        .flat_map(|folder| {
            let folder = folder.unwrap().path();
            std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .map(|file| file.unwrap().path())
        })
        .filter(|path| {
            path.extension().is_some_and(|e| e == "json") && json(path)["suite"].is_string()
        })
        .collect();
    runs.sort();
    runs
}

#[test]
fn digests_and_counts_of_recorded_gpu_runs_equal_the_golden_ones() {
    let mut compared = 0;
    for path in recorded_runs() {
        let run = json(&path);
        assert_eq!(run["backend"], "cuda", "{}", path.display());
        let (suite, size) = (
            run["suite"].as_str().unwrap(),
            run["size"].as_str().unwrap(),
        );
        for benchmark in run["benchmarks"].as_array().unwrap() {
            let name = benchmark["name"].as_str().unwrap();
            let golden = json(&root().join(format!("golden/{suite}/{name}.{size}.json")));
            let place = format!("{name} in {}", path.display());
            assert_eq!(benchmark["status"], "passed", "{place}");
            // A program may differ from run to run on one of the backends only.
            let exact = golden["deterministic"] == true && benchmark["deterministic"] == true;
            let same = &golden["same"];
            for (key, compared) in [
                ("launches", same != "counts-each-launch"),
                ("ctas", same != "counts-each-launch"),
                ("kernels", exact || same == "counts"),
            ] {
                if compared {
                    assert_eq!(benchmark[key], golden[key], "{key} of {place}");
                }
            }
            if exact {
                assert_eq!(benchmark["digest"], golden["digest"], "digest of {place}");
                compared += 1;
            }
        }
    }
    assert!(
        compared >= 74,
        "only {compared} digests were there to compare"
    );
}
