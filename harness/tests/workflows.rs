//! Checks that the CI workflows use only commands and options that exist. `xtask`'s tests check its own commands, and
//! `cargo xtask actionlint` checks the rest.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

/// The parts of a workflow that this test reads.
#[derive(Deserialize)]
struct Workflow {
    name: String,
    jobs: BTreeMap<String, Job>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(rename = "timeout-minutes")]
    timeout_minutes: u32,
    #[serde(default)]
    strategy: Option<Strategy>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Strategy {
    matrix: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    run: Option<String>,
}

fn workflows() -> Vec<(String, Workflow)> {
    let folder = common::root().join(".github/workflows");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let workflow =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        found.push((name, workflow));
    }
    found
}

/// Returns the words after each `marker` in `text`, up to the end of the command.
fn commands(text: &str, marker: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let lines = joined
        .lines()
        .filter_map(|line| line.split_once(marker))
        .map(|(_, rest)| rest.split_whitespace().map(str::to_owned).collect());
    lines.collect()
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_superstep"))
        .args(arguments)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success(), "superstep {arguments:?} --help");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the lines of a step, once for each combination of values in the job's matrix.
fn with_every_value(run: &str, matrix: Option<&BTreeMap<String, Vec<String>>>) -> String {
    let mut lines: Vec<String> = run.lines().map(str::to_string).collect();
    for (name, values) in matrix.into_iter().flatten() {
        let variable = format!("${{{{ matrix.{name} }}}}");
        lines = lines
            .into_iter()
            .flat_map(|line| match line.contains(&variable) {
                true => values
                    .iter()
                    .map(|value| line.replace(&variable, value))
                    .collect(),
                false => vec![line],
            })
            .collect();
    }
    lines.join("\n")
}

#[test]
fn every_command_and_option_in_a_workflow_exists() {
    let mut suites = BTreeSet::new();
    let mut used = 0;
    for (file, workflow) in workflows() {
        for (job_name, job) in &workflow.jobs {
            assert!(job.timeout_minutes > 0, "{file}: {job_name}");
            for suite in job
                .strategy
                .iter()
                .filter_map(|strategy| strategy.matrix.get("suite"))
                .flatten()
            {
                suites.insert(suite.clone());
            }
            let matrix = job.strategy.as_ref().map(|strategy| &strategy.matrix);
            for run in job.steps.iter().filter_map(|step| step.run.as_ref()) {
                let run = &with_every_value(run, matrix);
                for words in commands(run, "cargo xtask ") {
                    used += 1;
                    if ["suite", "run", "bundle"].contains(&words[0].as_str()) {
                        assert_command_options(&file, &words[0], &words[1..]);
                    }
                }
                for words in commands(run, "/superstep\" ") {
                    used += 1;
                    assert_command_options(&file, &words[0], &words[1..]);
                }
                for words in commands(run, "/superstep-bench ") {
                    used += 1;
                    assert_options(&file, bench_help(&words[0]), &words);
                }
                for script in run
                    .split_whitespace()
                    .filter(|word| word.starts_with(".ci/"))
                {
                    used += 1;
                    assert!(common::root().join(script).is_file(), "{file}: {script}");
                }
            }
        }
        assert_eq!(format!("{}.yml", workflow.name), file);
    }
    assert!(used >= 4, "only {used} commands were found");
    assert_eq!(suites, BTreeSet::from(["rodinia".into(), "thesis".into()]));
    for suite in suites {
        let manifest = common::root().join("suites").join(suite).join("suite.yaml");
        assert!(manifest.is_file(), "{}", manifest.display());
    }
}

fn assert_command_options(file: &str, command: &str, words: &[String]) {
    assert_options(file, &help(&[command]), words);
}

/// Returns the output of `superstep-bench COMMAND --help`, from the snapshots of its own tests.
fn bench_help(command: &str) -> &'static str {
    let all = include_str!("../../tools/bench/tests/snapshots/help__help.snap");
    let begin = format!("==== superstep-bench {command} ====\n");
    let help = all.split_once(&begin).map(|(_, help)| help);
    let help = help.unwrap_or_else(|| panic!("superstep-bench has no command {command}"));
    help.split("\n==== ").next().unwrap_or(help)
}

fn assert_options(file: &str, help: &str, words: &[String]) {
    for option in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "{file}: {words:?}: {option}");
    }
}

/// Detects YAML that is not parsed as expected, such as `on` parsed as true.
#[test]
fn workflows_name_their_triggers() {
    for (file, _) in workflows() {
        let text =
            fs::read_to_string(common::root().join(".github/workflows").join(&file)).unwrap();
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        assert!(value["on"].is_object(), "{file}: {}", value["on"]);
        assert_eq!(value["permissions"]["contents"], "read", "{file}");
    }
}
