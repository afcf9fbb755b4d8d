//! Runs `superstep-bench soak` on a bundle for two seconds, and repeats one of the cases.

mod common;

use common::{binaries, run};
use serde_json::Value;

#[test]
fn random_cases_pass_and_can_be_repeated() {
    let Some([bench, superstep]) = binaries() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let bundle = ["bundle", "thesis", "--only", "hs2d", "--size", "tiny"];
    let bundle = [&bundle[..], &["--backend", "cpu", "--out", "bundle"]].concat();
    run(&superstep, folder.path(), &bundle);
    let soak = ["soak", "bundle", "--size", "tiny", "--json", "soak.json"];
    let timed = [&soak[..], &["--hours", "0.0006", "--seed", "7"]].concat();
    let out = run(&bench, folder.path(), &timed);
    let text = std::fs::read(folder.path().join("soak.json")).unwrap();
    let results: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(results["failures"], Value::Array(Vec::new()), "{out}");
    assert_eq!(results["programs"], 1);
    let total = |key: &str| results["total"][key].as_u64().unwrap();
    assert!(total("runs") > 0 && total("accesses") > 0, "{out}");
    let left = std::fs::read_dir(folder.path().join("out/soak")).unwrap();
    assert_eq!(left.count(), 0, "folders of cases that pass are removed");

    let mut cases = out.lines().filter_map(|line| line.strip_prefix("case "));
    let first = cases.next().unwrap();
    let seed = first.split_whitespace().next().unwrap();
    let again = run(
        &bench,
        folder.path(),
        &[&soak[..], &["--case", seed]].concat(),
    );
    // The time of a kill depends on the duration of the program.
    let what = first.rsplit("  ").next().unwrap().split(", killed").next();
    assert!(again.contains(what.unwrap()), "{first}\n{again}");
    let case_folder = folder.path().join(format!("out/soak/case-{seed}"));
    assert!(case_folder.join("traced/outcome.json").is_file());
}
