//! Digests that a GPU gave, held against the golden ones: CI has no GPU, so a golden digest that one confirmed must not change unnoticed.

use std::path::Path;

use serde_json::Value;

const RECORDED: &str = "docs/results/2026-11-21-h200/digests.csv";

#[test]
fn golden_digests_that_a_gpu_confirmed_have_not_changed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let recorded = std::fs::read_to_string(root.join(RECORDED)).unwrap();
    let mut compared = 0;
    for line in recorded.lines().skip(1) {
        let [suite, size, program, _protocol, digest] =
            line.split(',').collect::<Vec<_>>().try_into().unwrap();
        let path = root.join(format!("golden/{suite}/{program}.{size}.json"));
        let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        assert_eq!(
            golden["digest"], digest,
            "{program} of {suite} at size {size}: run the suite on a GPU again, then replace its line in {RECORDED}"
        );
        compared += 1;
    }
    assert_eq!(compared, 78);
}
