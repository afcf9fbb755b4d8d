//! Reads and exports all parts of a probed run's results, with mutated numbers.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use superstep_export::probe;
use superstep_fuzz::{Edit, edit, scratch, write};
use superstep_table::Format;
use superstep_trace::ProbeResults;

#[derive(Arbitrary, Debug)]
struct Input {
    modules: Vec<Edit>,
    launches: [Vec<Edit>; 2],
    values: Vec<u64>,
}

fn modules() -> Value {
    let site = json!({"point": 0, "at": "load", "function": "_Z1kPf", "file": "k.cu", "line": 3, "column": 1, "what": "load",
        "block": 0, "operation": 1, "width": 4, "successors": [1, 2], "lines": [3, 9], "followers": 0});
    json!({"schema_version": 1, "modules": [{
        "schema_version": 1, "module": 0, "name": "k.cu", "backend": "cpu", "probe": "defined", "sites": [],
        "kernels": [{"name": "_Z1kPf", "display_name": "k", "parameters": 1}],
        "defined": {
            "spec": {"name": "p", "title": "P", "kernels": ["*"], "per": "cta", "fields": [
                    {"name": "a", "type": "u64", "combine": "sum"}, {"name": "b", "type": "u32", "combine": "min"}],
                "fields_in": "registers", "tables": [{"name": "t", "words": 4}], "parameters": [],
                "points": [{"at": ["load"], "when": "before", "once-per": "thread", "call": "f", "pass": ["fields"], "replaces": false}]},
            "sites": [site, site],
            "kernels": {"_Z1kPf": {"first": 0, "count": 2, "native": true}}}}]})
}

fn launch(number: u32, per_thread: bool) -> Value {
    let threads = json!({"first": 8, "words": 16});
    json!({"stream": 0, "launch": number, "kernel": "_Z1kPf", "module": 0, "grid": [2, 1, 1], "block": [4, 1, 1],
        "first_slot": 0, "slots": 2, "units": if per_thread { 8 } else { 2 }, "elapsed_ns": 5,
        "fields": {"first": 0, "words": 8}, "threads": if per_thread { threads } else { Value::Null },
        "thread_slots": [0], "tables": {"first": 24, "words": 4}})
}

fuzz_target!(|input: Input| {
    let folder = scratch();
    let mut modules = modules();
    edit(&mut modules, &input.modules);
    write(&folder.join("probe.json"), modules.to_string());
    let mut lines = String::new();
    for (number, edits) in input.launches.iter().enumerate() {
        let mut launch = launch(number as u32, number == 1);
        edit(&mut launch, edits);
        lines += &format!("{launch}\n");
    }
    write(&folder.join("launches.jsonl"), lines);
    let values = input.values.iter().copied().chain(0..28);
    let values: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
    write(&folder.join("values.bin"), values);
    let Ok(results) = ProbeResults::open(folder) else {
        return;
    };
    for launch in &results.launches {
        let _ = results.totals(launch);
        let _ = results.statistics(launch);
        let _ = results.threads(launch, 0);
        let _ = results.words(launch.tables);
    }
    let out = folder.join("out");
    let _ = std::fs::create_dir(&out);
    let _ = probe::write(&results, Format::Csv, &out);
});
