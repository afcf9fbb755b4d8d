//! Tests of the command line and its exit codes.

use clap::CommandFactory as _;
use superstep_toolchain::Missing;

use super::*;
use context::{ToolMissing, exit_code};

#[test]
fn arguments_after_the_command_reach_superstep_unchanged() {
    Arguments::command().debug_assert();
    for words in [
        &["thesis", "--size", "tiny"][..],
        &["--help"],
        &["thesis", "--", "--help"],
    ] {
        let line = ["xtask", "suite"].iter().chain(words);
        let Command::Suite(forwarded) = Arguments::parse_from(line).command else {
            panic!("another command");
        };
        assert_eq!(forwarded.arguments, words);
    }
}

#[test]
fn workflows_call_commands_that_exist() {
    let workflows = [
        include_str!("../../.ci/run"),
        include_str!("../../.github/workflows/ci.yml"),
        include_str!("../../.github/workflows/nightly.yml"),
        include_str!("../../.github/workflows/release.yml"),
    ];
    // The matrix of the job that runs each check.
    let matrix = workflows[2]
        .split_once("check: [")
        .and_then(|(_, rest)| rest.split(']').next());
    let checks = matrix.unwrap().split(", ");
    let lines = workflows.iter().flat_map(|text| text.lines());
    let calls = lines.filter_map(|line| Some(line.split_once("cargo xtask ")?.1));
    let calls = calls.filter(|call| !call.starts_with("${{ matrix"));
    let mut count = 0;
    for call in calls.chain(checks) {
        let line = ["xtask"].into_iter().chain(call.split_whitespace());
        if let Err(error) = Arguments::try_parse_from(line) {
            panic!("{call}: {error}");
        }
        count += 1;
    }
    assert!(count > 10, "only {count} calls were found");
}

#[test]
fn only_fuzz_targets_that_exist_are_accepted() {
    assert_eq!(checks::fuzz_target("capture").unwrap(), "capture");
    let error = checks::fuzz_target("nothing").unwrap_err();
    assert!(error.to_string().contains("nothing.rs"));
}

#[test]
fn each_kind_of_error_has_its_code() {
    assert_eq!(exit_code(&ToolMissing("no clang".into()).into()), 5);
    let missing = anyhow::Error::from(Missing { tools: Vec::new() });
    assert_eq!(exit_code(&missing.context("failed to set up")), 5);
    assert_eq!(exit_code(&anyhow::anyhow!("a test failed")), 1);
}
