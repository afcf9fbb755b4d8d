//! Reads the manifests of a suite and a benchmark, with changed lines and words.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::path::{Component, Path};
use superstep_build::manifest::load_suite;
use superstep_fuzz::{LineChange, change_lines, scratch, write};

#[derive(Arbitrary, Debug)]
struct Input {
    suite: Vec<LineChange>,
    benchmark: Vec<LineChange>,
}

const SUITE: &str = include_str!("../seeds/suite.yaml");
const BENCHMARK: &str = include_str!("../seeds/one.yaml");

fn stays(path: &Path) -> bool {
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

fuzz_target!(|input: Input| {
    let folder = scratch();
    write(
        &folder.join("suite.yaml"),
        change_lines(SUITE, &input.suite),
    );
    write(
        &folder.join("one.yaml"),
        change_lines(BENCHMARK, &input.benchmark),
    );
    match load_suite(folder) {
        Ok(suite) => {
            for benchmark in &suite.benchmarks {
                let files = benchmark.files.iter();
                let mut files = files.map(|file| benchmark.in_source(file));
                assert!(files.all(|file| stays(&file)), "{benchmark:?}");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
