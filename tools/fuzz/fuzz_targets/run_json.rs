//! Reads the summary of a run, with mutated values, and renders its page.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::OnceLock;
use superstep_analysis::run_summary::RunSummary;
use superstep_fuzz::{Edit, edit};
use superstep_report::page;

const RUN: &str = include_str!("../seeds/run.json");

fuzz_target!(|edits: Vec<Edit>| {
    static BASE: OnceLock<serde_json::Value> = OnceLock::new();
    let base = BASE.get_or_init(|| serde_json::from_str(RUN).expect("the seed is valid"));
    let mut document = base.clone();
    edit(&mut document, &edits);
    let Ok(run) = serde_json::from_value::<RunSummary>(document) else {
        return;
    };
    let text = serde_json::to_string(&run).expect("a summary is plain data");
    serde_json::from_str::<RunSummary>(&text).expect("a written summary can be read");
    let _ = page::page(&run, &[], Path::new("none"));
});
