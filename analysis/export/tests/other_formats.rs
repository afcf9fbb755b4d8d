//! Tests for the structures of appendix B and the timeline.

mod common;

use std::fs;

use common::{LOAD, STORE, group, worked_example};
use proptest::prelude::*;
use superstep_analysis::communication::Options;
use superstep_export::appendix_b::{self, Accesses, LoadStore, Matched, NestedFormat};
use superstep_export::timeline;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{AccessGroup, KnownCall};

fn read(path: &std::path::Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_worked_example_gives_the_structures_of_appendix_b() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(&folder.path().join("capture"));
    let files = appendix_b::write(&capture, NestedFormat::Json, folder.path()).unwrap();
    let [volumes, transfers, operations] = [0, 1, 2].map(|number| read(&files[number]));
    assert_eq!(
        volumes["KDV"],
        serde_json::json!({"write": {"0": {"Load": 0, "Store": 16}}, "read": {"1": {"Load": 24, "Store": 0}}})
    );
    // Words 1 and 2 are read; five of the six loads read them.
    assert_eq!(
        volumes["KCV"],
        serde_json::json!({"write": {"0": {"Load": 0, "Store": 8}}, "read": {"1": {"Load": 20, "Store": 0}}})
    );
    assert_eq!(volumes["CCV"]["read"]["1"]["0"]["Load"], 16);
    assert_eq!(volumes["SDV"]["write"]["0"]["6"]["Store"], 8);
    assert_eq!(volumes["SCV"]["read"]["1"]["5"]["Load"], 20);
    assert_eq!(
        transfers,
        serde_json::json!({"write": {
            "0": {"0": {"read": {"0": {"1": {"Size": 4, "cnt": 1}}}}},
            "1": {"0": {"read": {"0": {"1": {"Size": 4, "cnt": 1}}, "1": {"1": {"Size": 4, "cnt": 1}}}}},
        }})
    );
    let addresses: Vec<&String> = operations.as_object().unwrap().keys().collect();
    assert_eq!(
        addresses,
        [
            &(common::BASE + 4).to_string(),
            &(common::BASE + 8).to_string()
        ]
    );
    let first = &operations[addresses[0]];
    assert_eq!(
        first[0],
        serde_json::json!({"kernel": "write", "it": 0, "cta": 0, "addr": common::BASE + 4, "smid": 5, "size": 4, "type": 2})
    );
    assert_eq!(first.as_array().unwrap().len(), 3);
}

#[test]
fn pickle_equals_json() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(&folder.path().join("capture"));
    let json = appendix_b::write(&capture, NestedFormat::Json, folder.path()).unwrap();
    let pickle = appendix_b::write(&capture, NestedFormat::Pickle, folder.path()).unwrap();
    for (json, pickle) in json.iter().zip(&pickle) {
        let script = "import json, pickle, sys\n\
             text = lambda v: {str(k): text(w) for k, w in v.items()} if isinstance(v, dict) else [text(w) for w in v] if isinstance(v, list) else v\n\
             value = pickle.load(open(sys.argv[2], 'rb'))\n\
             sys.exit(0 if text(value) == json.load(open(sys.argv[1])) else f'{value} differs')";
        let run = std::process::Command::new("python3")
            .args(["-c", script])
            .args([json, pickle])
            .output()
            .expect("python3 is required by the project's setup");
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
}

#[test]
fn the_timeline_has_a_bar_for_each_launch() {
    let folder = tempfile::tempdir().unwrap();
    let capture = worked_example(&folder.path().join("capture"));
    let path = timeline::write(&capture, &folder.path().join("timeline.json")).unwrap();
    let trace = read(&path);
    let bars: Vec<_> = (trace["traceEvents"].as_array().unwrap().iter())
        .filter(|entry| entry["ph"] == "X")
        .collect();
    let names: Vec<_> = bars
        .iter()
        .map(|bar| bar["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["write", "read"]);
    assert!(bars.iter().all(|bar| bar["dur"] == 1.5), "{bars:?}");
    assert!(bars[0]["ts"].as_f64() <= bars[1]["ts"].as_f64());
    assert_eq!(bars[1]["args"]["thread_accesses"], 6);
}

#[test]
fn the_timeline_has_a_bar_for_each_opaque_launch() {
    let folder = tempfile::tempdir().unwrap();
    let module = testing::module("a.cu", vec![], &[]);
    let mut capture = CaptureBuilder::new(&folder.path().join("capture"), &module).with_clock();
    let call = KnownCall {
        function: "cublasSgemm_v2".into(),
        ..KnownCall::default()
    };
    capture.opaque_call(Some("_Z4gemmPf"), Some(call));
    let path = timeline::write(&capture.finish(), &folder.path().join("timeline.json")).unwrap();
    let trace = read(&path);
    let entries = trace["traceEvents"].as_array().unwrap();
    let bar = entries.iter().find(|entry| entry["ph"] == "X").unwrap();
    let shown = (&bar["name"], &bar["cat"], &bar["dur"]);
    assert_eq!(shown, (&"gemm".into(), &"opaque".into(), &0.7.into()));
    let expected =
        serde_json::json!({"grid": [4, 1, 1], "block": [64, 1, 1], "call": "cublasSgemm_v2"});
    assert_eq!(bar["args"], expected);
}

/// Generates launches that only load or only store. A thread that loads a word after storing it in the same launch
/// reads its own value, which the thesis's rule ignores.
fn launches() -> impl Strategy<Value = Vec<(bool, Vec<AccessGroup>)>> {
    let words = proptest::collection::vec(0u64..24, 1..6);
    let groups = proptest::collection::vec((0u32..4, 0u32..3, words), 0..8);
    let launch = (any::<bool>(), any::<bool>(), groups).prop_map(|(write, store, groups)| {
        let site = if store { STORE } else { LOAD };
        let groups = groups.into_iter();
        (
            write,
            groups
                .map(|(cta, sm, words)| group(site, cta, sm, &words))
                .collect(),
        )
    });
    proptest::collection::vec(launch, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// If all accesses are whole words, the thesis's rule and the exact engine must agree on transfers and, where their
    /// definitions match, on communicating loads and stores.
    #[test]
    fn thesis_rule_and_exact_engine_agree_on_whole_words(launches in launches()) {
        let folder = tempfile::tempdir().unwrap();
        let named: Vec<(&str, Vec<AccessGroup>)> = launches
            .into_iter()
            .map(|(write, groups)| (if write { "write" } else { "read" }, groups))
            .collect();
        let capture = common::capture(&folder.path().join("capture"), &named);
        let exact = superstep_analysis::analyse(&capture, Options::transfers()).unwrap().communication;
        let matched = Matched::new(&Accesses::new(&capture).unwrap());

        let mut sizes = Vec::new();
        for (kernel, ctas) in &matched.transfers {
            for (cta, steps) in ctas {
                for (step, receivers) in steps {
                    for (receiver, ctas) in receivers {
                        for (receiver_cta, steps) in ctas {
                            for (receiver_step, amount) in steps {
                                prop_assert_eq!(&exact.launches[*step as usize].kernel, &mangled(kernel));
                                prop_assert_eq!(&exact.launches[*receiver_step as usize].kernel, &mangled(receiver));
                                sizes.push((*step, *cta, *receiver_step, *receiver_cta, amount.size, amount.count));
                            }
                        }
                    }
                }
            }
        }
        sizes.sort_unstable();
        let expected: Vec<_> = exact
            .transfers
            .to_vec()
            .unwrap()
            .iter()
            .map(|t| (t.source_launch, t.source_cta, t.receiver_launch, t.receiver_cta, t.bytes, t.count))
            .collect();
        prop_assert_eq!(sizes, expected);

        let sum = |volumes: &std::collections::BTreeMap<String, std::collections::BTreeMap<u32, LoadStore>>| {
            volumes.values().flat_map(|steps| steps.values()).fold((0, 0), |sum, v| (sum.0 + v.load, sum.1 + v.store))
        };
        prop_assert_eq!(sum(&matched.volumes.kernel_data), (exact.total.loaded_bytes, exact.total.stored_bytes));
        prop_assert_eq!(sum(&matched.volumes.kernel_communication).0, exact.total.communicated_loaded_bytes);
    }
}

fn mangled(kernel: &str) -> String {
    format!("_Z{}{kernel}Pf", kernel.len())
}
