//! Reads the manifests of a suite and of a benchmark, separated by a `---` line in the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::{Component, Path};
use superstep_build::manifest::load_suite;
use superstep_fuzz::{scratch, write};

fn stays_inside(path: &Path) -> bool {
    let mut depth = 0;
    path.components().all(|part| {
        depth += match part {
            Component::Normal(_) => 1,
            Component::CurDir => 0,
            Component::ParentDir => -1,
            _ => return false,
        };
        depth >= 0
    })
}

fuzz_target!(|text: &str| {
    let folder = scratch();
    let (suite, benchmark) = text.split_once("---\n").unwrap_or((text, ""));
    write(&folder.join("suite.yaml"), suite);
    write(&folder.join("one.yaml"), benchmark);
    match load_suite(folder) {
        Ok(suite) => {
            for benchmark in &suite.benchmarks {
                let files = benchmark.files.iter();
                let mut files = files.map(|file| benchmark.in_source(file));
                assert!(files.all(|file| stays_inside(&file)), "{benchmark:?}");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
